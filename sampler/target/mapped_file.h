/*
 * The code that targets run, by identity: each mapped file once, however many processes map it.
 * The file is opened and kept open when its first mapping appears, so that a program that is
 * deleted, replaced or gone by the end still gets its unwind rows and its names.
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

struct mapped_file {
	uint32_t index;	  /* dense; also the index in the BPF modules map */
	uint32_t sink_id; /* module id in the sink, or PROFILE_NONE until a frame needs it */
	enum module_kind kind;
	char *path; /* as the target names it */
	pid_t pid;  /* MODULE_JIT: whose */
	uint64_t dev, ino;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size;
	uint32_t nr_code_functions; /* to be told of: struct fact_derived_rules */
	int fd;			    /* -errno: could not be opened */
	struct timespec changed;    /* the file's, when it was opened */
	uint64_t size_bytes;
	struct file_segment *segments;
	size_t nr_segments;
};

/*
 * Reads program headers and build-id of the ELF file at code->fd. 0, or -ENOEXEC where it is not an
 * ELF file of this machine (its code is then walked by frame pointers).
 */
int mapped_file_read_elf(struct mapped_file *code);

/* ELF vaddr of a file offset; false outside every executable segment. */
bool mapped_file_vaddr(const struct mapped_file *code, uint64_t offset, uint64_t *ret_vaddr);

/* Has the file been written since it was opened? Its rows and names are then no longer to be had. */
bool mapped_file_is_overwritten(const struct mapped_file *code);

struct file_table;

struct file_table *file_table_new(void);
void file_table_free(struct file_table *table); /* closes the files */
struct mapped_file *file_table_get(const struct file_table *table, uint32_t index);
size_t file_table_size(const struct file_table *table);
/* A descriptor, the caller's, of the file behind the sink's module id; as source_ops.open_module. */
int file_table_open_module(const struct file_table *table, uint32_t sink_id);

/* Where a mapping of a file was seen: whatever helps to open exactly that file. */
struct file_mapping {
	pid_t pid;
	uint64_t start, end, pgoff;
	uint64_t dev, ino;
	const char *path;
};

/*
 * The code behind a mapping; new ones are opened and read. *ret_new says that this is the first
 * mapping of it. NULL when the table is full (WALK_MAX_MODULES).
 */
struct mapped_file *file_table_add(struct file_table *table, const struct file_mapping *mapping,
				   bool *ret_new);
/*
 * The code behind a mapping of a memfd: an ELF file, or else what `process` has made at run time.
 */
struct mapped_file *file_table_add_memfd(struct file_table *table,
					 const struct file_mapping *mapping, pid_t process,
					 bool *ret_new);
/* Code without a file in one process. */
struct mapped_file *file_table_add_runtime(struct file_table *table, pid_t pid, bool *ret_new);
struct mapped_file *file_table_add_vdso(struct file_table *table, bool *ret_new);
/*
 * Code without a file that no process maps any more makes room for other code; its struct mapped_file stays
 * until then. To be called with what is found unused.
 */
void file_table_reuse(struct file_table *table, struct mapped_file *code);
/* How many more can come before the table is full. */
size_t file_table_room(const struct file_table *table);
/* The vdso as it lies in this process: the kernel maps the same pages everywhere. NULL: none. */
const void *file_table_vdso_image(size_t *ret_size);

/* Each mapped file stays open until its names are known: raises the limit of them as far as it goes. */
void file_table_raise_limit(void);

#endif
