/*
 * The table of mapped files: each file once, however many processes map it. A file is opened when
 * its first mapping appears and kept open, so that a program that is deleted or replaced meanwhile
 * still gets its unwind rows and its names. Runtime code has an entry for each process, and the
 * vdso one, without a file. When no process maps a file any more its entry is released, rests for a
 * while, and then its number belongs to another file (sampler/release/file_release.h).
 */
#ifndef SPROF_MAPPED_FILE_H
#define SPROF_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/portable/walk.h"
#include "core/profile/profile.h"
#include "core/sandbox/confined_headers.h"

/* The root directory in which the path of a file, and paths that it holds, have a meaning. */
struct mapped_root {
	pid_t pid;     /* that of this process; 0: `path` is one of ours */
	size_t prefix; /* of those bytes of `path`, which is ours, the directory is the root */
};

struct mapped_file {
	uint32_t index;	  /* dense; walkers know its rows by it; reused */
	uint32_t user;	  /* who mapped it first, and is charged for it */
	uint64_t number;  /* unlike the index, no two files ever have the same one */
	uint32_t sink_id; /* module id in the sink; PROFILE_NONE until a frame needs it */
	enum module_kind kind;
	char *path; /* in the target's mount namespace */
	pid_t pid;  /* MODULE_JIT: whose */
	/* As its mappings show them; on btrfs the device is that which the file itself shows. */
	uint64_t dev, ino;
	/* Mappings of another file may show the same ones, so each user has an entry. */
	bool has_twins;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size;
	/* Its headers or its unwind table could not be read (table_builder.h). */
	bool parser_failed;
	uint32_t nr_derived_functions; /* not yet reported as struct fact_derived_rules */
	int fd;			       /* or -errno: it could not be opened */
	uint32_t nr_tries;	       /* to open it */
	uint64_t retry_ns;	       /* when it may be tried again (open_mapped.h) */
	struct timespec changed;       /* st_mtime when it was opened */
	uint64_t size_bytes;
	struct mapped_root root;
	struct code_segment *segments;
	size_t nr_segments;
	struct header_reader *reader; /* of its table, for its headers; NULL: this process */
	/* Stands for all files that the table has no room for. */
	bool over_limit;
	bool building;	   /* the table builder has its descriptor */
	bool missed_table; /* a walk did, and the table builder was told so */
	bool lacks_table;  /* nothing mapped it when the builder's turn came, so none was built */
	bool mapped_again; /* while the builder had it */
	uint32_t mark;	   /* the last round in which a process was seen to map it */
	uint64_t hold_until_ns; /* it stays until then even if nothing maps it */
};

/*
 * Reads program headers and build-id of the ELF file at file->fd. 0; -ENOEXEC: not an ELF file of
 * this machine, so its code is walked by frame pointers; or as code_headers_read(), reported.
 */
int mapped_file_read_elf(struct mapped_file *file);

/* ELF vaddr of a file offset; false outside every executable segment. */
bool mapped_file_vaddr(const struct mapped_file *file, uint64_t offset, uint64_t *ret_vaddr);

/*
 * Has the file been overwritten since it was opened? Then its rows and names cannot be read any
 * more.
 */
bool mapped_file_is_overwritten(const struct mapped_file *file);

struct file_table;
struct sandbox;

struct file_table *file_table_new(void);
/* From now on files are read in the sandbox, which must outlive the table; NULL: here. */
void file_table_confine(struct file_table *table, const struct sandbox *sandbox);
void file_table_free(struct file_table *table); /* closes the files */
/* Closes what is open for its names alone. With `forget`, the sink's ids of all files are void. */
void file_table_turn(struct file_table *table, bool forget);
struct mapped_file *file_table_get(const struct file_table *table, uint32_t index);
size_t file_table_size(const struct file_table *table);
/* A new descriptor of the file behind the sink's module id, as source_ops.open_module. */
int file_table_open_module(const struct file_table *table, uint32_t sink_id);

/* The root directory of its paths, as source_ops.open_root. */
int file_table_open_root(const struct file_table *table, uint32_t sink_id, size_t *ret_prefix);

/* Where a mapping was seen: what it takes to open exactly that file. */
struct file_mapping {
	pid_t pid;
	uint32_t user; /* of the process */
	uint64_t start, end, pgoff;
	uint64_t dev, ino;
	const char *path;
};

/* The index of the entry that stands for all files beyond a limit. */
#define FILE_OVER_LIMIT (WALK_MAX_MODULES - 1)

/*
 * The entry of a mapped file. *ret_new: this is the first mapping of it; the file was opened and
 * read. A file that could not be opened gets a new entry when it opens for a later mapping, or when
 * another file has its inode by then. Where the table, or the user's share of it, is full, it is
 * the entry FILE_OVER_LIMIT.
 */
struct mapped_file *file_table_add(struct file_table *table, const struct file_mapping *mapping,
				   bool *ret_new);
/* The entry of a mapped memfd: an ELF file, or else runtime code of `process`. */
struct mapped_file *file_table_add_memfd(struct file_table *table,
					 const struct file_mapping *mapping, pid_t process,
					 bool *ret_new);
/* The entry of the runtime code of a process. */
struct mapped_file *file_table_add_runtime(struct file_table *table, pid_t pid, uint32_t user,
					   bool *ret_new);
struct mapped_file *file_table_add_vdso(struct file_table *table, bool *ret_new);
/*
 * No process maps the file any more. Its descriptor is closed, or kept if it was sampled; its index
 * rests.
 */
void file_table_release(struct file_table *table, struct mapped_file *file, uint64_t now_ns);
/* The index of a file that has rested long enough; false: there is none. It is free after this. */
bool file_table_reclaim(struct file_table *table, uint64_t now_ns, uint32_t *ret_index);

/* Has the index been released and not been used again since? */
bool file_table_is_released(const struct file_table *table, uint32_t index);

/* What the table could not do so far. */
struct file_refusals {
	uint64_t nr_full, nr_user_full; /* mappings of files without an entry */
	uint64_t nr_names_lost;		/* sampled and deleted files that were let go */
	uint32_t user;			/* the first user whose share was full */
};
struct file_refusals file_table_refusals(const struct file_table *table);
/* Entries that were added since the last call. */
uint32_t file_table_nr_added(struct file_table *table);
/* To be called now and then: what is kept for its names only may have been deleted meanwhile. */
void file_table_check_kept(struct file_table *table);
/* The vdso of this process, which is the same in all. NULL: there is none. */
const void *file_table_vdso_image(size_t *ret_size);

/*
 * Raises the limit of open files as far as it goes: every mapped file stays open until it is named.
 */
void file_table_raise_limit(void);

#endif
