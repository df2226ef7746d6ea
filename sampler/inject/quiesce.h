/*
 * Is any thread of a process inside code or on a stack that is about to go? Nothing may be unmapped, or
 * used again, before every thread has been seen outside once; new ones cannot come in by then.
 */
#ifndef SPROF_QUIESCE_H
#define SPROF_QUIESCE_H

#include <stddef.h>
#include <stdint.h>

struct inject_process;

struct quiesce_range {
	uint64_t start, end;
};

/*
 * Waits until every thread was seen once with its pc and stack pointer outside the ranges. Threads that
 * sleep are only looked at; those that run are stopped for a moment. 0, -ETIMEDOUT after limit_ms, or
 * -ESRCH: the process has ended. ptrace(2) calls: to be made where no thread is held.
 */
int quiesce_wait(const struct inject_process *process, const struct quiesce_range *ranges,
		 size_t nr, unsigned int limit_ms);

#endif
