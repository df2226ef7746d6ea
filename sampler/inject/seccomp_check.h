/*
 * Seccomp and what is done to a process: a filter that denies one of our system calls could end the process for
 * it. Root can read the filters of a stopped thread (PTRACE_SECCOMP_GET_FILTER), so they are asked beforehand, every
 * filter of every thread about every call that attaching, sampling and detaching make.
 */
#ifndef SPROF_SECCOMP_CHECK_H
#define SPROF_SECCOMP_CHECK_H

#include <linux/filter.h>
#include <stddef.h>
#include <sys/types.h>

struct inject_process;
struct inject_reason;

/* One of the filters that decide over a thread. */
struct inject_filter {
	struct sock_filter *code;
	size_t nr;
};

/*
 * Stops each thread that has a filter, one after the other, and asks its filters. 0: all allow all of it;
 * -ENOTSUP: one does not, or it is not known; -EBUSY: a thread could not be stopped. To be called by the
 * thread that may trace.
 */
int inject_seccomp_check(const struct inject_process *process, struct inject_reason *reason);

/* The same for filters in hand. */
int inject_seccomp_judge(const struct inject_filter *filters, size_t nr,
			 struct inject_reason *reason);

#endif
