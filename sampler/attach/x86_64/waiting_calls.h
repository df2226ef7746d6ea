/* The system calls in which a thread only waits, by their x86-64 numbers. */
#ifndef SPROF_WAITING_CALLS_H
#define SPROF_WAITING_CALLS_H

#include <stdbool.h>
#include <sys/user.h>

/*
 * Does the thread wait for an event and not for a lock of libc's? libc takes locks by FUTEX_WAIT.
 * What has a timeout or could have one (conditions, joins, semaphores) waits by FUTEX_WAIT_BITSET.
 */
bool attach_waits(const struct user_regs_struct *regs);

#endif
