/*
 * The flight recorder: samples go to one segment of a folder after another. Sampling does not stop
 * at a turn; only the sink changes (core/segments/segment_sink.h). A disk that is full, or a
 * folder that is gone, costs samples, which are counted, and never ends the recording.
 */
#ifndef SPROF_CONTINUOUS_H
#define SPROF_CONTINUOUS_H

#include <stdint.h>

#include "cli/continuous/continuous_opts.h"

struct continuous;
struct debuginfod;
struct memory_watch;
struct profile_stats;
struct push_child;
struct rate_control;
struct recfile_meta;
struct sandbox;
struct sink;
struct source;
struct source_ops;
struct triggers;

struct continuous_config {
	const struct continuous_opts *opts;
	const struct recfile_meta
		*meta; /* of the first segment; its strings outlive the recorder */
	const struct source_ops *ops;
	struct source *source;
	struct sandbox *sandbox;
	struct debuginfod *debuginfod;
	struct rate_control *rate;   /* outlives the recorder */
	struct memory_watch *memory; /* likewise */
	struct triggers *triggers;   /* NULL: none; likewise */
	struct push_child *push;     /* gets each finished segment; NULL: nothing is pushed */
};

/* Opens the folder and the first segment. 0 or -errno, reported. */
int continuous_new(const struct continuous_config *config, struct continuous **ret);
void continuous_free(struct continuous *c); /* NULL is fine */

/* Where the samples go. */
struct sink *continuous_sink(struct continuous *c);

/*
 * To be called in every round. Writes what is pending once a second, and turns when it is time or a
 * signal asks for it. `front` is the sink that the source is given, which leads to that one.
 * `now_ns` is CLOCK_MONOTONIC.
 */
void continuous_round(struct continuous *c, struct sink *front, uint64_t now_ns);
/* When the next round has something to do. */
uint64_t continuous_next_ns(const struct continuous *c);

uint64_t continuous_nr_lost(const struct continuous *c);     /* samples that could not be written */
uint64_t continuous_nr_segments(const struct continuous *c); /* segments that have ended */
uint64_t continuous_size_bytes(const struct continuous *c);  /* of everything written */

/* Ends the last segment, after the source has stopped, and says what was recorded. */
void continuous_finish(struct continuous *c, const struct profile_stats *stats, uint64_t end_ns);

#endif
