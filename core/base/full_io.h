/*
 * Reads and writes that end with all bytes or with an error. read(2) and write(2) may be cut short
 * by a signal or a full pipe.
 */
#ifndef SPROF_FULL_IO_H
#define SPROF_FULL_IO_H

#include <stddef.h>
#include <stdint.h>

/* Reads `size` bytes of the file from `offset` on. -EBADMSG if it ends before, or -errno. */
int full_read_at(int fd, void *to, size_t size, uint64_t offset);
/* Writes all bytes at the file's offset. 0 or -errno; -EIO if nothing more can be written. */
int full_write(int fd, const void *data, size_t size);
int full_write_at(int fd, const void *data, size_t size, uint64_t offset);
/*
 * As full_write(), into a pipe to a child that may have been killed: -EPIPE then, and no SIGPIPE.
 * No handler is set, so programs that this process starts inherit nothing.
 */
int full_write_pipe(int fd, const void *data, size_t size);

#endif
