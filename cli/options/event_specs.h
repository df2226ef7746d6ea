/* The argument of sprof record -e: NAME[@PERIOD], several of them separated by commas. */
#ifndef SPROF_EVENT_SPECS_H
#define SPROF_EVENT_SPECS_H

#include <stdbool.h>
#include <stdint.h>

struct source_events;

/*
 * Sets the clock, a constant name, and the counted events. If the text names no clock, only events
 * are sampled. Returns NULL, or what is wrong, as a clause.
 */
const char *event_specs_parse(const char *text, const char **ret_clock,
			      struct source_events *ret_events);

/* Parses a period, as after @ and -c. Returns 0 if it is not a number. */
uint64_t event_specs_period(const char *text);

/*
 * Gives a period other than 0 to all events without one; the clock "cycles" becomes an event.
 * Returns false if there is no event.
 */
bool event_specs_set_period(uint64_t period, const char **clock, struct source_events *events);

#endif
