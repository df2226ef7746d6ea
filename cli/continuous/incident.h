/*
 * An incident: for a while after a trigger has fired, the flight recorder samples at another rate,
 * and what it writes then is kept for good.
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
	uint64_t until_ns; /* CLOCK_MONOTONIC; 0: no incident is going on */
	int64_t since_ns;  /* CLOCK_BOOTTIME: when it began; segments that end later are kept */
};

/* Warns if the source cannot change its rate. */
void incident_init(struct incident *i);

/*
 * Looks at the triggers. If one has fired, begins or prolongs the incident, tells the sink of the
 * new rate, and returns what has fired, in words; else NULL.
 */
const char *incident_poll(struct incident *i, struct sink *sink, uint64_t now_ns);
/* Ends an incident whose time is over: the usual rate holds again. Returns whether it did. */
bool incident_ends(struct incident *i, struct sink *sink, uint64_t now_ns);

#endif
