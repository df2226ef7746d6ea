/*
 * Sorts the samples of a profile into tracks, one per thread and column, each in order of time: the
 * shape that formats with a timeline need.
 */
#ifndef SPROF_THREAD_TRACKS_H
#define SPROF_THREAD_TRACKS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct track {
	uint32_t thread;  /* PROFILE_NONE: samples without a thread */
	uint8_t column;	  /* enum profile_column */
	size_t first, nr; /* a range of timeline.samples */
	uint64_t total;	  /* sum of weights */
	uint32_t process; /* string: the name of its busiest thread, which exec may have renamed */
	uint32_t pid;	  /* as hosts_numbers() numbers processes */
	const char *host; /* of its process: hosts_suffix() */
};

struct timeline {
	struct track *tracks; /* sorted by pid, host, thread, thread name and column */
	size_t nr_tracks;
	uint32_t *samples; /* indices of samples, track by track */
};

/* The track with the most CPU time, or else the most of whatever there is; 0 without tracks. */
size_t timeline_busiest(const struct timeline *t);

/* 0, or -ERANGE, not reported, if the weights of a track reach TREE_MAX_TOTAL. */
int timeline_init(struct timeline *t, const struct profile *p);
void timeline_fini(struct timeline *t);

#endif
