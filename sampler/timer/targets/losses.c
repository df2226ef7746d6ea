/*
 * A timer on CPU time expires only in a thread that has a CPU, however many threads there are. One
 * on the clock expires in each thread. A thread that begins or ends may send a record out of turn,
 * and threads that end quickly are not seen: MARGIN covers both.
 */
#include "sampler/timer/targets/losses.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "sampler/timer/targets/timer_process.h"

#define MARGIN 4u

uint64_t timer_losses_possible(const struct timer_region_config *c, uint64_t elapsed_ns,
			       uint64_t nr_threads, uint64_t nr_cpus)
{
	/* The first sample of a thread comes at the first tick, which may be before its period. */
	uint64_t every_ns = c->tick_ns && c->tick_ns < c->period_ns ? c->tick_ns : c->period_ns,
		 nr_timers = c->clock == AGENT_CLOCK_CPU ? nr_cpus : nr_threads, nr;

	if (!every_ns || __builtin_mul_overflow(elapsed_ns / every_ns + 1, nr_timers, &nr) ||
	    __builtin_mul_overflow(nr, MARGIN, &nr))
		return UINT64_MAX;
	return nr;
}

uint64_t timer_losses_poll(struct timer_process *p, const struct timer_region_config *config,
			   bool *ret_beyond)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t most = timer_losses_possible(config, monotonic_ns() - p->maps.known_ns,
					      p->threads.most_threads, cpus > 0 ? cpus : 1),
		 before = p->losses.nr, nr;

	if (__builtin_add_overflow(timer_region_nr_dropped(&p->region), p->region.nr_broken, &nr))
		nr = UINT64_MAX;
	*ret_beyond = nr > most && !p->losses.is_beyond;
	p->losses.is_beyond |= nr > most;
	if (nr > most)
		nr = most;
	if (nr > before) /* a target may also take its claim back */
		p->losses.nr = nr;
	return p->losses.nr - before;
}
