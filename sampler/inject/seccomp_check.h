/*
 * Whether the seccomp filters of a process allow what sprof is going to have its threads do: a
 * filter that denies one system call could end the process for it. Root can read the filters of a
 * stopped thread (PTRACE_SECCOMP_GET_FILTER), so every filter of every thread is asked beforehand
 * about every call that attaching, sampling and detaching make. In a container sprof is under the
 * same filters as its targets, and tries what they allow (seccomp_trial.h).
 */
#ifndef SPROF_SECCOMP_CHECK_H
#define SPROF_SECCOMP_CHECK_H

#include <linux/filter.h>
#include <stddef.h>
#include <sys/types.h>

struct inject_process;
struct inject_reason;

/* One of the filters of a thread. */
struct inject_filter {
	struct sock_filter *code;
	size_t nr;
};

/*
 * Stops each thread whose filters are to be read, one after the other, and asks them. 0: all
 * allow every call; -ENOTSUP: one does not, or that is not known; -EBUSY: a thread could not be
 * stopped. Called by the thread that may trace.
 */
int inject_seccomp_check(const struct inject_process *process, struct inject_reason *reason);

/* Asks these filters. 0 or -ENOTSUP and the reason. */
int inject_seccomp_judge(const struct inject_filter *filters, size_t nr,
			 struct inject_reason *reason);

#endif
