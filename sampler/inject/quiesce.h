/*
 * Waits until no thread of a process is inside code or on a stack that is about to be unmapped or
 * used again. It is enough that every thread has been seen outside once, because by then no thread
 * can enter any more.
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
 * Waits until every thread was seen once with its pc and stack pointer outside the ranges. Threads
 * that sleep are only looked at; threads that run are stopped for a moment. 0, -ETIMEDOUT after
 * limit_ms, or -ESRCH: the process has ended. It uses ptrace(2), so the caller must hold no thread
 * of the process.
 */
int quiesce_wait(const struct inject_process *process, const struct quiesce_range *ranges,
		 size_t nr, unsigned int limit_ms);

#endif
