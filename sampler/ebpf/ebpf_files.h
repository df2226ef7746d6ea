/*
 * The mapped files and the runtime code of all processes, and their unwind rows. A file that is
 * seen for the first time is given to the table builder; its finished table goes into the arena and
 * its entry into the kernel side's modules, at the index that the file has in the file table. When
 * no process maps a file any more, all that is given back.
 */
#ifndef SPROF_EBPF_FILES_H
#define SPROF_EBPF_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/untrusted/user_shares.h"
#include "sampler/release/file_release.h"

struct limits;
struct file_table;
struct kernel_side;
struct mapped_file;
struct process;
struct runtime_unwind;
struct sandbox;
struct sideband_record;
struct table_builder;
struct table_cache;
struct walk_rule;

struct ebpf_files {
	struct kernel_side *kernel;
	struct limits *limits;
	struct file_table *table;
	struct table_builder *builder;
	struct runtime_unwind *runtime;
	uint64_t nr_rows;		  /* published so far */
	struct published_file *published; /* by index */
	struct user_shares words;	  /* of the arena */
	bool is_limited;		  /* memory is; see ebpf_files_init() */
	uint64_t allowed_ns;		  /* copied stacks were allowed up to then */
	struct file_release release;
	/* Called for a file before it is released. */
	void (*on_release)(void *context, const struct mapped_file *file);
	void *context;
};

/*
 * The kernel side is loaded; it and `limits` must outlive the files, and so must the sandbox in
 * which files are parsed (NULL: they are parsed in this process). `is_limited`: a file whose rows
 * find no room is walked by copies of its stacks, and not cut.
 */
void ebpf_files_init(struct ebpf_files *f, struct kernel_side *kernel, struct limits *limits,
		     const struct sandbox *sandbox, struct table_cache *cache, bool is_limited);
/*
 * Once no process has rows of runtime code any more, and before the kernel side goes. Zeros are
 * fine.
 */
void ebpf_files_fini(struct ebpf_files *f);

/* Asks for the rows of a file that was not known; `files` is a struct ebpf_files. */
void ebpf_files_add(void *files, struct mapped_file *file);
/*
 * The file behind a mapping of that process that the side band reports, added if it is new. NULL:
 * no code of ours.
 */
struct mapped_file *ebpf_files_mapped(struct ebpf_files *f, const struct process *p,
				      const struct sideband_record *r);
/* Has the rows of a file built before anything maps it; `files` is a struct ebpf_files. */
void ebpf_files_expect(void *files, const char *path);

/*
 * Once in a round: publishes finished tables, and forgets runtime code that is not used any more.
 */
void ebpf_files_poll(struct ebpf_files *f, uint64_t now_ns);
/*
 * Waits for the tables that were asked for, at most until `until_ns` (CLOCK_MONOTONIC), and
 * publishes them. A copied stack is unwound by the rules of its files, which a child process reads.
 */
void ebpf_files_await(struct ebpf_files *f, uint64_t until_ns);
/* The same for one table, or a few at once. False where none comes any more, or a signal came. */
bool ebpf_files_await_next(struct ebpf_files *f, uint64_t until_ns);
/* Now and then: releases the files that no process of the list maps. */
void ebpf_files_release(struct ebpf_files *f, const struct process *processes, uint64_t now_ns);

/*
 * Words of the arena for a user's mappings. Refusals are counted as limits; what was taken is given
 * back by ebpf_files_give_words().
 */
bool ebpf_files_take_words(struct ebpf_files *f, uint32_t user, uint64_t nr);
void ebpf_files_give_words(struct ebpf_files *f, uint32_t user, uint64_t nr);

/* As snapshot_ops.find_rule. */
bool ebpf_files_find_rule(const struct ebpf_files *f, uint64_t module, uint64_t vaddr,
			  struct walk_rule *ret);

#endif
