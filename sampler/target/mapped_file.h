/*
 * The table of mapped files: each file once, however many processes map it. A file is opened when
 * its first mapping appears and kept open, so that a program that is deleted or replaced meanwhile
 * still gets its unwind rows and its names. Runtime code has an entry for each process, and the
 * vdso one, without a file.
 */
#ifndef SPROF_MAPPED_FILE_H
#define SPROF_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/profile/profile.h"

struct file_segment {
	uint64_t offset, size, vaddr; /* of an executable PT_LOAD: file offset, file bytes */
};

/* The root directory in which the path of a file, and paths that it holds, have a meaning. */
struct mapped_root {
	pid_t pid;     /* that of this process; 0: `path` is one of ours */
	size_t prefix; /* of those bytes of `path`, which is ours, the directory is the root */
};

struct mapped_file {
	uint32_t index;	  /* dense; walkers know its rows by it */
	uint32_t sink_id; /* module id in the sink; PROFILE_NONE until a frame needs it */
	enum module_kind kind;
	char *path; /* in the target's mount namespace */
	pid_t pid;  /* MODULE_JIT: whose */
	uint64_t dev, ino;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size;
	bool parser_failed;	       /* its unwind table could not be read (table_builder.h) */
	uint32_t nr_derived_functions; /* not yet reported as struct fact_derived_rules */
	int fd;			       /* or -errno: it could not be opened */
	struct timespec changed;       /* st_mtime when it was opened */
	uint64_t size_bytes;
	struct mapped_root root;
	struct file_segment *segments;
	size_t nr_segments;
};

/*
 * Reads program headers and build-id of the ELF file at file->fd. 0, or -ENOEXEC: not an ELF file
 * of this machine, so its code is walked by frame pointers.
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

struct file_table *file_table_new(void);
void file_table_free(struct file_table *table); /* closes the files */
struct mapped_file *file_table_get(const struct file_table *table, uint32_t index);
size_t file_table_size(const struct file_table *table);
/* A new descriptor of the file behind the sink's module id, as source_ops.open_module. */
int file_table_open_module(const struct file_table *table, uint32_t sink_id);

/* The root directory of its paths, as source_ops.open_root. */
int file_table_open_root(const struct file_table *table, uint32_t sink_id, size_t *ret_prefix);

/* Where a mapping was seen: what it takes to open exactly that file. */
struct file_mapping {
	pid_t pid;
	uint64_t start, end, pgoff;
	uint64_t dev, ino;
	const char *path;
};

/*
 * The entry of a mapped file. *ret_new: this is the first mapping of it; the file was opened and
 * read. NULL: the table is full (WALK_MAX_MODULES).
 */
struct mapped_file *file_table_add(struct file_table *table, const struct file_mapping *mapping,
				   bool *ret_new);
/* The entry of a mapped memfd: an ELF file, or else runtime code of `process`. */
struct mapped_file *file_table_add_memfd(struct file_table *table,
					 const struct file_mapping *mapping, pid_t process,
					 bool *ret_new);
/* The entry of the runtime code of a process. */
struct mapped_file *file_table_add_runtime(struct file_table *table, pid_t pid, bool *ret_new);
struct mapped_file *file_table_add_vdso(struct file_table *table, bool *ret_new);
/*
 * To be called for entries that no process maps any more: one of runtime code may be reused for
 * another. Its struct mapped_file stays valid until then.
 */
void file_table_reuse(struct file_table *table, struct mapped_file *file);
/* How many more entries fit. */
size_t file_table_room(const struct file_table *table);
/* The vdso of this process, which is the same in all. NULL: there is none. */
const void *file_table_vdso_image(size_t *ret_size);

/*
 * Raises the limit of open files as far as it goes: every mapped file stays open until it is named.
 */
void file_table_raise_limit(void);

#endif
