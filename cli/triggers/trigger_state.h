/*
 * Decides when a trigger fires: once, when the limit has been exceeded for its span, and not again
 * until the value was well below the limit for a while. So a value that stays high, or that moves
 * around the limit, fires once.
 */
#ifndef SPROF_TRIGGER_STATE_H
#define SPROF_TRIGGER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of a counter over a span, to tell by how much it grew. Zeroed is empty. */
#define GROWTH_POINTS 17
struct growth {
	uint64_t time_ns[GROWTH_POINTS], value[GROWTH_POINTS];
	size_t nr;		    /* points ever added; the last GROWTH_POINTS are kept */
	uint64_t grown, elapsed_ns; /* of the last call: growth over the span, or less */
};

/*
 * Adds the counter's value. Returns whether values go back span_ns; *ret_ppm is by how much it grew
 * then, in millionths of the time that passed.
 */
bool growth_add(struct growth *g, uint64_t now_ns, uint64_t value, uint64_t span_ns,
		uint64_t *ret_ppm);

/* Zeroed is valid. */
struct trigger_state {
	uint64_t over_since_ns;	 /* 0: not over the limit */
	uint64_t below_since_ns; /* if it has fired; 0: not well below the limit */
	bool has_fired;
};

/* Takes a value. Returns whether the trigger fires: the limit was exceeded for `for_ns`. */
bool trigger_measured(struct trigger_state *s, uint64_t value, uint64_t limit, uint64_t for_ns,
		      uint64_t now_ns);
/*
 * The same for an event: `happened` since the last call. Can fire again after a while without one.
 */
bool trigger_happened(struct trigger_state *s, bool happened, uint64_t now_ns);

#endif
