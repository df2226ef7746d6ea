/*
 * What /proc says of the seccomp filters of a process, without stopping any of its threads. Whether
 * the filters allow what sprof is going to do is seccomp_check.h's question, which takes ptrace(2).
 */
#ifndef SPROF_SECCOMP_STATUS_H
#define SPROF_SECCOMP_STATUS_H

#include <sys/types.h>

struct inject_reason;

/*
 * The number on the line `name` of a /proc/PID/status text, or `absent` where there is no such
 * line.
 */
long inject_status_number(const char *status, const char *name, long absent);

/*
 * Judges the seccomp lines of /proc/PID/status. 0: the process has no filter, or one that sprof may
 * read. -ENOTSUP and the reason: it runs in strict mode, or sprof has no right to read its filter.
 */
int inject_seccomp_check_status(const char *status, struct inject_reason *reason);

/*
 * 0: no thread has a filter. -ENOTSUP and the reason: one thread has a filter, whatever it allows.
 */
int inject_seccomp_check_none(pid_t pid, struct inject_reason *reason);

/*
 * Calls `check` for each thread until it returns an error, which is returned. Threads that start
 * later are not seen.
 */
int inject_each_thread(pid_t pid, int (*check)(void *context, pid_t tid), void *context);

#endif
