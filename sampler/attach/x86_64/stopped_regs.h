/* What the registers of a stopped thread say of the system call that it waits in. */
#ifndef SPROF_STOPPED_REGS_H
#define SPROF_STOPPED_REGS_H

#include <stdbool.h>
#include <sys/user.h>

/*
 * Does the thread wait for an event and not for a lock of libc's? libc takes locks by FUTEX_WAIT.
 * What has a timeout or could have one (conditions, joins, semaphores) waits by FUTEX_WAIT_BITSET.
 */
bool attach_waits(const struct user_regs_struct *regs);

#endif
