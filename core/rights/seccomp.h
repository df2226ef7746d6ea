/*
 * Takes system calls away from the calling process, for code that parses untrusted data. A list
 * names the calls that stay; every other call fails with ENOSYS, as on a kernel that lacks it, so
 * that libraries fall back to an allowed call or report an error.
 */
#ifndef SPROF_SECCOMP_H
#define SPROF_SECCOMP_H

#include <stddef.h>

/*
 * Allows the system calls in `allowed` to the calling thread and to those that it starts from now
 * on, for good: at most 200 numbers of the running architecture, each once. SYS_clone can only
 * start threads, and SYS_ioctl only ask for a terminal's properties. A call by the convention of
 * another architecture ends the process. Sets no_new_privs. Returns 0 or -errno; -ENOSYS where the
 * kernel has no seccomp filters or the architecture is not known here.
 */
int seccomp_allow(const int *allowed, size_t nr_allowed);

/*
 * The same with a fixed list for commands that read: files, memory and threads. They cannot start a
 * program, trace a process, open a socket, or change anything of the system.
 */
int seccomp_allow_reading(void);

#endif
