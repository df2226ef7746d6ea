/* The argument of sprof record -e: NAME[@PERIOD], several of them separated by commas. */
#ifndef SPROF_EVENT_SPECS_H
#define SPROF_EVENT_SPECS_H

#include <stdbool.h>
#include <stdint.h>

struct source_events;

/*
 * Sets the name of the clock, a constant, and the other events, which are sampled alone where the
 * text names no clock. Returns NULL, or what is wrong, as a clause.
 */
const char *event_specs_parse(const char *text, const char **ret_clock,
			      struct source_events *ret_events);

/* Parses a number of events, as after @ and -c. Returns 0 where it is no number. */
uint64_t event_specs_period(const char *text);

/*
 * Gives the period, unless it is 0, to all events that have none of their own. A clock of cycles
 * becomes an event. false: there is no event.
 */
bool event_specs_set_period(uint64_t period, const char **clock, struct source_events *events);

#endif
