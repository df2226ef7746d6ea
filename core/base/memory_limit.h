/*
 * How much memory the content of a file may take. A small file can describe, or expand to, more
 * than any machine has; so each reader's limit follows the size of the file and the memory that is
 * left, and an error names both.
 */
#ifndef SPROF_MEMORY_LIMIT_H
#define SPROF_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * Returns the bytes that this process may still take: of the machine's memory, of its cgroups, and
 * of its own limits (ulimit -v, -d). UINT64_MAX where nothing says.
 */
uint64_t memory_available(void);

/*
 * Returns the largest expansion of `stored` compressed bytes that is accepted: `ratio` times their
 * size or 1 MiB, whichever is more, and at most a quarter of the memory that is left.
 */
uint64_t memory_limit_expanded(uint64_t stored, unsigned int ratio);

/*
 * Returns the most memory that a file of that size may take when it is read: 256 times its size or
 * 256 MiB, whichever is more, and at most half of the memory that is left.
 */
uint64_t memory_limit_file(uint64_t file_bytes);

/* Reports that a file of that size would take more than `limit`. */
void memory_limit_report(const char *name, uint64_t file_bytes, uint64_t limit);

/*
 * Until memory_guard_end(), this process may allocate no more than memory_limit_file(file_bytes) in
 * addition to what it has. Beyond that malloc() fails, and xmalloc() and its family end the program
 * with an error that names the file, its size and the limit. For commands that read one file in one
 * thread. `name` must stay valid.
 */
void memory_guard_begin(const char *name, uint64_t file_bytes);
/* Raises the limit for a pipe, whose size is known only as it is read: `bytes` more were read. */
void memory_guard_read(uint64_t bytes);
void memory_guard_end(void);

#endif
