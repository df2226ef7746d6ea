/* Reads a whole text file into memory: /proc files, whose size is unknown, and untrusted files. */
#ifndef SPROF_TEXT_FILE_H
#define SPROF_TEXT_FILE_H

#include <stddef.h>

/*
 * Reads fd to its end and closes it, on failure too. The text is followed by a NUL; the caller
 * frees it. 0 or -errno; -EFBIG where the file is longer than max_size bytes.
 */
int text_file_read(int fd, size_t max_size, char **ret_text, size_t *ret_size);

#endif
