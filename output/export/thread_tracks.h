/*
 * The samples of a profile as tracks: one for each thread and column, each in order of time. That is
 * the shape of the formats that show a timeline.
 */
#ifndef SPROF_THREAD_TRACKS_H
#define SPROF_THREAD_TRACKS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct track {
	uint32_t thread;  /* PROFILE_NONE: of no thread */
	uint8_t column;	  /* enum profile_column */
	size_t first, nr; /* in timeline.samples */
	uint64_t total;	  /* weight */
};

struct timeline {
	struct track *tracks; /* by process, thread, name of thread and column */
	size_t nr_tracks;
	uint32_t *samples; /* numbers of samples, track by track */
};

/* -ERANGE where the weights of a track do not fit in 2^53. */
int timeline_init(struct timeline *t, const struct profile *p);
void timeline_fini(struct timeline *t);

#endif
