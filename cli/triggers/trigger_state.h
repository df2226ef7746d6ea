/*
 * When a trigger fires, by what was measured: once, when the limit has been exceeded for its span;
 * and not again before it was well below the limit for a while. So a value that stays high, or that
 * moves around the limit, fires once.
 */
#ifndef SPROF_TRIGGER_STATE_H
#define SPROF_TRIGGER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A counter over the last while, for what it grew by. Zeroed is empty. */
#define GROWTH_POINTS 17
struct growth {
	uint64_t time_ns[GROWTH_POINTS], value[GROWTH_POINTS];
	size_t nr;		    /* all that were added: the last GROWTH_POINTS are there */
	uint64_t grown, elapsed_ns; /* as of the last call: over the span, or over less */
};

/*
 * Adds what the counter is now. Returns whether it is known for `span_ns`, and then by how much it
 * has grown, in millionths of the time that has passed.
 */
bool growth_add(struct growth *g, uint64_t now_ns, uint64_t value, uint64_t span_ns,
		uint64_t *ret_ppm);

/* Zeroed is valid. */
struct trigger_state {
	uint64_t over_since_ns;	 /* 0: not over the limit */
	uint64_t below_since_ns; /* of one that has fired; 0: not well below it */
	bool has_fired;
};

/* A value was measured. Does the trigger fire? A value must be over the limit for `for_ns`. */
bool trigger_measured(struct trigger_state *s, uint64_t value, uint64_t limit, uint64_t for_ns,
		      uint64_t now_ns);
/*
 * The same of one that the kernel tells of: `happened` since the last call. It is calm when nothing
 * has happened for a while.
 */
bool trigger_happened(struct trigger_state *s, bool happened, uint64_t now_ns);

#endif
