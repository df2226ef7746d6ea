/* A whole text file in memory: /proc files, whose size is unknown, and files from hostile places. */
#ifndef SPROF_TEXT_FILE_H
#define SPROF_TEXT_FILE_H

#include <stddef.h>

/*
 * Reads fd (closed in any case) to its end. The text is followed by a NUL; the caller frees it.
 * 0 or -errno; -EFBIG where it is longer than max_size bytes.
 */
int text_file_read(int fd, size_t max_size, char **ret_text, size_t *ret_size);

#endif
