/*
 * Takes system calls away from the calling process, for code that parses what others wrote. A list
 * names the calls that stay; every other call fails with ENOSYS, as on a kernel that lacks it, so
 * that libraries fall back to a call that is allowed or report an error.
 */
#ifndef SPROF_SECCOMP_H
#define SPROF_SECCOMP_H

#include <stddef.h>

/*
 * Allows the system calls in `allowed` to the calling thread and to those that it starts from now
 * on, for good: at most 200 numbers of the running architecture, each once. SYS_clone starts
 * threads only, and SYS_ioctl asks only what a terminal is like. A call by the convention of
 * another architecture ends the process. Sets no_new_privs. Returns 0 or -errno; -ENOSYS where the
 * kernel has no seccomp filters or the architecture is not known here.
 */
int seccomp_allow(const int *allowed, size_t nr_allowed);

/*
 * What reading commands need: files, memory and threads. No program can be started, no process
 * traced, no socket opened, and nothing of the system changed. The same results as above.
 */
int seccomp_allow_reading(void);

#endif
