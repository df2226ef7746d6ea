/*
 * What a sleeping thread waits for, from the system call that it is in and its arguments.
 */
#ifndef SPROF_THREAD_WAIT_H
#define SPROF_THREAD_WAIT_H

#include <stddef.h>
#include <sys/types.h>

struct lock_places;

/*
 * Writes "lock wait, futex at 0x7f12, the_lock (program+0x4120)", "pipe wait, read of pipe:[123]",
 * ... for a thread that sleeps in the kernel function `wchan` ("": not known); nothing if that
 * cannot be told.
 */
void thread_wait_describe(struct lock_places *locks, pid_t pid, pid_t tid, const char *wchan,
			  char *ret_text, size_t size);

#endif
