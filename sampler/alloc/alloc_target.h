/* A process whose allocations are sampled: the inside of allocations.h. */
#ifndef SPROF_ALLOC_TARGET_H
#define SPROF_ALLOC_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/alloc/allocations.h"
#include "sampler/alloc/hook_set.h"

struct alloc_samples;
struct walk_target;

struct alloc_target {
	pid_t pid;
	struct alloc_function *functions; /* names are ours, paths too */
	size_t nr_functions;
	struct hook_set hooks;
	struct walk_target *walk;
	struct alloc_shared *shared; /* as mapped here; the target may write anything into it */
	int shared_fd, space_fd, arena_fd; /* the first is ours */
	bool on;
	/* In the target; 0: not mapped. */
	uint64_t code, private_memory, shared_at, end;
	struct alloc_samples *samples;
	uint64_t start_ns;			    /* earlier allocations are left out */
	uint64_t interval;			    /* as we set it */
	uint64_t least_interval, greatest_interval; /* that were used */
	uint64_t nr_recent;			    /* draws since the interval was adapted */
	uint64_t held_ns; /* how long all its threads stood still, and how many they were */
	size_t nr_held;
	struct alloc_target *next;
};

/*
 * alloc_attach.c: maps our memory into the process and turns the hooks on. 0, or -errno and the
 * reason; then nothing is left there.
 */
int alloc_target_attach(struct alloc_target *target, struct inject_reason *reason);
/*
 * Turns the hooks off, waits until no thread is in our code, and unmaps all. 0, also where the
 * process has ended; -errno and the reason: what had to stay.
 */
int alloc_target_detach(struct alloc_target *target, struct inject_reason *reason);

#endif
