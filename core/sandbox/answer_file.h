/*
 * A file in memory (memfd) through which a child without rights hands a large answer to the
 * recorder. The recorder makes the file, the child writes it, and the recorder seals it before it
 * looks, so that nothing changes while it checks.
 */
#ifndef SPROF_ANSWER_FILE_H
#define SPROF_ANSWER_FILE_H

#include <stddef.h>
#include <stdint.h>

/* A new file, or one that holds `data` already; close-on-exec. A descriptor or -errno. */
int answer_file_new(void);
int answer_file_of(const void *data, size_t size);

/*
 * Seals the file and maps a private copy, which the caller may change and munmap()s. -EBADMSG: it
 * is smaller or larger than an answer may be, or cannot be sealed; -EBUSY: its writer has it
 * mapped; or -errno.
 */
int answer_file_map(int fd, uint64_t size_min, uint64_t size_max, void **ret_bytes,
		    uint64_t *ret_size);

#endif
