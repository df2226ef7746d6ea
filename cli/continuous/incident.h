/*
 * What follows when a trigger fires: for a while the flight recorder samples at another rate, and
 * what it writes then is kept for good.
 */
#ifndef SPROF_INCIDENT_H
#define SPROF_INCIDENT_H

#include <stdbool.h>
#include <stdint.h>

struct rate_control;
struct sink;
struct trigger_opts;
struct triggers;

struct incident {
	const struct trigger_opts *opts;
	struct triggers *triggers; /* NULL: none */
	struct rate_control *rate;
	uint32_t usual_hz;
	uint64_t until_ns; /* CLOCK_MONOTONIC; 0: there is none now */
	int64_t since_ns;  /* CLOCK_BOOTTIME: what ends later is kept when it is over */
};

/* Says what cannot work here. */
void incident_init(struct incident *i);

/*
 * Looks at the triggers; where one has fired, the other rate begins, or goes on. Returns what has
 * fired, in words, or NULL. The sink is told of the change.
 */
const char *incident_poll(struct incident *i, struct sink *sink, uint64_t now_ns);
/* Is it over? Then the usual rate holds from here on. */
bool incident_ends(struct incident *i, struct sink *sink, uint64_t now_ns);

#endif
