/*
 * Writes samples as trace events, a track per thread and column. Trace events have no samples, only
 * beginnings and ends.
 */
#ifndef SPROF_SAMPLE_SPANS_H
#define SPROF_SAMPLE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct profile;

struct sample_spans_opts {
	uint32_t pid;	    /* of this process only; PROFILE_NONE: of all */
	bool own_tracks;    /* no track has the id of a thread, which may have other events */
	uint64_t offset_ns; /* is added to all times, which count from the start of the recording */
	/* Returns the category of an event, from the kind of its function. */
	const char *(*category)(uint8_t kind);
	/*
	 * Appends ",\"args\":{...}" to an event, or nothing. `number` counts all spans from 1 on;
	 * `parent` is that of the nearest span around it of the same kind, 0 = none. May be NULL.
	 */
	void (*add_args)(struct buffer *b, uint8_t kind, uint64_t number, uint64_t parent);
};

/*
 * Appends the events, with *separator before the first, and sets *separator to what goes before the
 * next event of the file. 0 or -ERANGE, not reported, if the weights of a track do not fit.
 */
int sample_spans_add(struct buffer *b, const struct profile *p,
		     const struct sample_spans_opts *opts, const char **separator);

#endif
