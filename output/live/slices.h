/*
 * The samples of the last seconds, for a live view: one slice for each second, in which equal
 * samples are added up. What leaves the window is forgotten; a window of 0 forgets nothing, and
 * adds up all that is older than a minute. Memory is limited in every case: see nr_over_limit and
 * slices_samples().
 *
 * Times are CLOCK_MONOTONIC, ns; the caller says what time it is.
 */
#ifndef SPROF_SLICES_H
#define SPROF_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

#define SLICES_MINUTE 60	      /* seconds of the history of CPU time */
#define SLICES_MAX_ENTRIES (1u << 20) /* different samples in all slices; 40 MB */
#define SLICES_MAX_SAMPLES (1u << 20) /* that slices_samples() makes; 32 MB */

struct slices;

/* `window_s` 0: since the start. */
struct slices *slices_new(uint32_t window_s, uint64_t now_ns);
void slices_free(struct slices *s); /* NULL is fine */

/*
 * Says what time it is, and the counters of the source so far. To be called before the samples of a
 * new second are added, and several times a second: a slice lasts until the first call after it.
 */
void slices_advance(struct slices *s, uint64_t now_ns, const struct profile_stats *stats);

/*
 * Adds a sample to the slice of its time, or of the present if it has none. A sample for which
 * there is no room is added to those of `left_out`, the stack that stands for such samples.
 */
void slices_add(struct slices *s, const struct profile_sample *sample, uint32_t left_out);

/* Forgets all samples, as if sampling began now. The history of CPU time stays. */
void slices_reset(struct slices *s, uint64_t now_ns);

/* What is in the window. */
struct slices_span {
	uint64_t start_ns, end_ns;
	struct profile_stats stats; /* of that time alone */
	uint64_t nr_over_limit;	    /* samples without a stack of their own */
	/*
	 * Each sample that slices_samples() makes stands for up to 2^shift that were taken, of the
	 * same stack and thread, as there would be too many. The margins of error are wider then
	 * than they had to be.
	 */
	uint32_t shift;
};

void slices_span(const struct slices *s, struct slices_span *ret);

/*
 * Returns the samples in the window, which the caller frees, oldest slice first. Equal samples that
 * were added up are several again: their number and the sum of their weights are right, their time
 * is the beginning of their slice.
 */
struct profile_sample *slices_samples(const struct slices *s, size_t *ret_nr);

/* CPU time by second, the last of which is the present one and not over yet. */
void slices_cpu_history(const struct slices *s, uint64_t ret_ns[SLICES_MINUTE]);

#endif
