/*
 * What /proc says of the seccomp filters of a process, without stopping any of its threads. Whether
 * the filters allow what sprof is going to do is seccomp_check.h's question.
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

/* How many filters a /proc/PID/status text tells of; -1: the kernel does not say (before 5.9). */
long inject_seccomp_nr_filters(const char *status);

/* How it can be known what the filters of a thread allow. */
enum inject_seccomp {
	INJECT_NO_FILTER,
	INJECT_FILTER_SHARED,	/* we have the same ones: seccomp_trial.h tries */
	INJECT_FILTER_READABLE, /* they are read and evaluated */
};

/*
 * Judges the seccomp lines of a thread's status. An enum inject_seccomp; or -ENOTSUP and the
 * reason: it runs in strict mode, or what its filters allow cannot be known.
 */
int inject_seccomp_kind(pid_t tid, const char *status, struct inject_reason *reason);
/* The same for all threads of a process: the greatest. */
int inject_seccomp_kind_of_process(pid_t pid, struct inject_reason *reason);

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
