/*
 * A profile as receivers want it: the samples of each process apart, with labels that say whose
 * they are, and every frame with a name. Receivers look for no names themselves.
 */
#ifndef SPROF_PUSH_SERIES_H
#define SPROF_PUSH_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "output/push/push_labels.h"

struct profile;
struct profile_sample;

/* What one process did, or all of a profile that names no processes. */
struct push_series {
	struct push_labels labels;
	struct profile_sample *samples; /* of the set's profile, in order of time */
	size_t nr_samples;
};

struct push_set {
	struct profile *p; /* with nothing but what the samples need */
	struct push_series *series;
	size_t nr_series;
};

/* Gives every frame without a name the one that the report shows: "[libx.so]", or its marker. */
void push_name_unnamed(struct profile *p);

/*
 * Makes sets of the samples of a profile and hands each to emit(), which may not keep it. `own` are
 * labels that the user gave, which replace those that are found. 0, or what emit() returned; where
 * that is -EMSGSIZE, the samples come again in two sets, unless there is only one.
 */
int push_series_each(const struct profile *p, const struct push_labels *own,
		     int (*emit)(void *context, const struct push_set *set), void *context);

#endif
