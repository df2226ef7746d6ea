/*
 * A profile that grows while it is looked at: a sink for a source, whose samples go into slices
 * (slices.h). Copies of what is in the window are ordinary profiles, of which every table is made.
 *
 * One thread puts samples in, others take copies and give names: every function locks.
 */
#ifndef SPROF_LIVE_H
#define SPROF_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/profile.h"
#include "output/live/slices.h"

struct live;
struct sink;

/* Strings are copied; NULL: unknown. */
struct live_meta {
	const char *hostname, *kernel, *command, *source, *event, *version;
	uint32_t freq_hz, nr_cpus;
	uint64_t start_realtime_ns, start_ns; /* one moment, by two clocks */
	uint32_t window_s;		      /* 0: all since the start */
	pid_t own_pid;			      /* its samples are left out */
};

/*
 * Beyond this many, new threads and stacks share one that stands for all that had no room. Once a
 * stack had none, nothing is kept for further ones.
 */
struct live_limits {
	size_t threads, stack_frames;
	size_t entries;	     /* of each of the tables of frames, modules and strings */
	size_t string_bytes; /* strings beyond it are empty */
};

extern const struct live_limits live_limits_default;

struct live *live_new(const struct live_meta *meta, const struct live_limits *limits);
void live_free(struct live *live); /* NULL is fine */

/* Belongs to `live`. */
struct sink *live_sink(struct live *live);

/* As slices_advance() and slices_reset(). */
void live_advance(struct live *live, uint64_t now_ns, const struct profile_stats *stats);
void live_reset(struct live *live, uint64_t now_ns);

struct live_state {
	struct slices_span span;
	uint64_t nr_samples_ever;	/* since the start */
	uint64_t cpu_ns[SLICES_MINUTE]; /* slices_cpu_history() */
	bool threads_full, stacks_full; /* a limit was hit */
};

/* Copies a profile with its samples, names and processes; what is known of the recording stays. */
void live_profile_copy(const struct profile *from, struct profile *to);

/* Returns a copy of what is in the window, which the caller frees. */
struct profile *live_copy(struct live *live, struct live_state *ret_state);

/*
 * Frames get their names in rounds, while samples go on coming. A round is a profile of the frames
 * that have a sample and were in no round before.
 */
struct live_round {
	struct profile *profile;
	uint32_t *modules, *frames; /* the sink's ids, by those of `profile` */
};

/* Returns a round of the frames of at most `max_modules` modules, or NULL if all had theirs. */
struct live_round *live_round_new(struct live *live, size_t max_modules);
/*
 * What part of the samples since the last round have frames that wait for one: hardly any or fewer
 * than five, more than 1/50, which can be seen in a picture, or more than 1/5.
 */
enum live_urgency { LIVE_CALM, LIVE_SOON, LIVE_URGENT };
enum live_urgency live_round_urgency(struct live *live);
/* Takes over the names that its frames got, and frees the round. */
void live_round_end(struct live *live, struct live_round *round);

#endif
