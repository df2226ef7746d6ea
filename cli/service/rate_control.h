/*
 * Decides the sampling rate: the user's, for a while a trigger's, and at most what a limit of cost
 * allows. Each change becomes a fact of the recording.
 */
#ifndef SPROF_RATE_CONTROL_H
#define SPROF_RATE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/service/own_cost.h"
#include "cli/service/rate_governor.h"
#include "core/profile/recorder_facts.h"

struct rate_control {
	struct own_parts parts; /* what own_cost_read() measures */
	struct source *source;
	uint32_t hz;	    /* in force */
	uint32_t wanted_hz; /* without the limit */
	uint32_t limit_ppm; /* of one CPU; 0: none */
	bool is_begun, said_helpless;
	uint64_t next_ns;
	struct own_cost cost; /* at the last look */
	struct rate_governor governor;
};

/* Can the source change its rate? */
bool rate_control_can(const struct rate_control *r);
/*
 * Changes the wanted rate and tells the sink. Does not raise a rate that the limit has lowered. 0
 * or -errno: -ENOTSUP if the source cannot change its rate.
 */
int rate_control_want(struct rate_control *r, uint32_t freq_hz, enum rate_reason reason,
		      struct sink *sink);
/* Keeps the limit from now on, once recording has begun. Warns if it cannot be kept. */
void rate_control_begin(struct rate_control *r, uint64_t now_ns);
/* To be called in every round. */
void rate_control_round(struct rate_control *r, struct sink *sink, uint64_t now_ns);

#endif
