/*
 * What recorders that were killed have left in a process and no hook leads to: they were killed
 * between mapping it and turning their hooks on, or between turning these off and unmapping it.
 */
#ifndef SPROF_LEFT_MEMORY_H
#define SPROF_LEFT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct inject_process;

/* A recorder whose last heartbeat is that old has ended. */
#define LEFT_MEMORY_NS (2000ull * 1000 * 1000)

struct left_memory {
	uint64_t start, end; /* of what was shared */
	uint64_t code;	     /* 0: it is not mapped */
};

/* Finds at most `max` of them; returns how many. */
size_t left_memory_find(const struct inject_process *process, struct left_memory *ret, size_t max);

#endif
