/*
 * What ranks did between two moments: samples of their threads, and work of their GPUs, found by
 * process and time.
 */
#ifndef SPROF_RANK_EVENTS_H
#define SPROF_RANK_EVENTS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct rank_event {
	uint32_t pid;
	uint32_t index;	 /* of the sample, or of the FACT_GPU_ACTIVITY */
	int64_t time_ns; /* of the profile's own clock */
};

/* The events of one profile, by process and time. */
struct rank_events {
	const struct profile *p;
	struct rank_event *samples, *activities;
	size_t nr_samples, nr_activities;
	int64_t longest_ns; /* duration of an activity */
};

void rank_events_init(struct rank_events *e, const struct profile *p);
void rank_events_fini(struct rank_events *e);
/* The index of the first event of the process at that time or later. */
size_t rank_events_from(const struct rank_event *list, size_t nr, uint32_t pid, int64_t time_ns);

#endif
