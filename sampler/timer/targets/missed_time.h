/*
 * CPU time that no sample stands for: the process's own clock against the weights of its samples.
 * It is kept only for processes that were attached to, because they do not tell us of their new
 * threads.
 */
#ifndef SPROF_MISSED_TIME_H
#define SPROF_MISSED_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct timer_process;
struct timer_region_config;

/* A part of struct timer_process, written by missed_time.c only. */
struct timer_missed {
	uint64_t cpu_ns;       /* CPU time of the process as of the last poll, */
	uint64_t cpu_start_ns; /* and when it was attached to */
	uint64_t weighed_ns;   /* what its samples stand for */
	uint64_t window_cpu_ns, window_weighed_ns;
	bool process_timer; /* it has the timer that meets threads without one */
};

/* The process was just attached to. */
void timer_missed_begin(struct timer_process *p);
/* A sample with that weight was taken. */
void timer_missed_weigh(struct timer_process *p, uint64_t weight_ns);
/*
 * Once in a round: where much is missing, asks for a timer on the CPU time of the process, unless
 * `stopping`.
 */
void timer_missed_poll(const struct timer_region_config *config, struct timer_process *p,
		       bool stopping);
/* Warns of what is missing in these processes. */
void timer_missed_end(const struct timer_region_config *config,
		      const struct timer_process *processes);

#endif
