/*
 * Reads a BPF iterator whose program copies memory of targets. Such a copy may never return: the
 * page may lie in a file of a FUSE server that does not answer, or the process may hold the lock of
 * its memory. So a child process reads the iterator and hands its bytes over through a pipe; if
 * it sleeps for too long, it is left behind.
 */
#ifndef SPROF_GUARDED_ITERATOR_H
#define SPROF_GUARDED_ITERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Hands all bytes of the iterator over, a piece at a time. `limit_ns` is how long the child may
 * sleep, all its sleeps together. 0; -ETIMEDOUT: the child was left behind; or -errno.
 */
int guarded_iterator_read(int iterator, uint64_t limit_ns,
			  void (*take)(void *context, const void *bytes, size_t size),
			  void *context);

/* By what read(2) of an iterator returned: after a million threads it asks to be read again. */
bool guarded_iterator_goes_on(ssize_t n);

#endif
