/*
 * Keeps the cost of recording within a share of one CPU by lowering the rate. An account receives
 * the allowed cost and pays the real one. It may be overdrawn for a while, because building tables
 * and looking up names come in bursts that no rate would change. Knows neither clocks nor sources.
 */
#ifndef SPROF_RATE_GOVERNOR_H
#define SPROF_RATE_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

struct rate_governor {
	uint32_t limit_ppm;	/* of one CPU */
	uint64_t ns, cost_ns;	/* at the last step */
	uint64_t since_ns;	/* the cost is measured since then: a minute at most */
	uint64_t since_cost_ns; /* the cost at since_ns */
	uint64_t changed_ns;
	double account_ns; /* below 0: overdrawn */
};

void rate_governor_begin(struct rate_governor *g, uint32_t limit_ppm, uint64_t now_ns,
			 uint64_t cost_ns);
/*
 * To be called every few seconds, with the cost so far and the rate in force. Returns the rate that
 * should hold from now on, from 1 to `wanted_hz`; *ret_ppm is what recording has cost lately.
 */
uint32_t rate_governor_step(struct rate_governor *g, uint64_t now_ns, uint64_t cost_ns, uint32_t hz,
			    uint32_t wanted_hz, uint32_t *ret_ppm);
/* Is the account far overdrawn although the rate is 1? Then sampling is not the cause. */
bool rate_governor_is_helpless(const struct rate_governor *g, uint32_t hz);

#endif
