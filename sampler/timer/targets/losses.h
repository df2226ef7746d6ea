/*
 * Samples of a target that were lost. The target itself counts those for which its rings had no
 * room, in memory that it can write as it likes. So no more are believed than its timers can have
 * taken since it was first seen.
 */
#ifndef SPROF_TIMER_LOSSES_H
#define SPROF_TIMER_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/timer/targets/timer_region.h"

struct timer_process;

/* A part of struct timer_process, written by losses.c only. */
struct timer_losses {
	uint64_t nr;	/* counted so far */
	bool is_beyond; /* the target has claimed more than is possible */
};

/*
 * How many samples the timers of a process can have taken in elapsed_ns, generously. nr_threads is
 * the most that were seen at once.
 */
uint64_t timer_losses_possible(const struct timer_region_config *config, uint64_t elapsed_ns,
			       uint64_t nr_threads, uint64_t nr_cpus);
/*
 * Returns how many samples were lost since the last call. *ret_beyond: the target has claimed, for
 * the first time, more than is possible.
 */
uint64_t timer_losses_poll(struct timer_process *p, const struct timer_region_config *config,
			   bool *ret_beyond);

#endif
