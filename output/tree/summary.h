/*
 * How far a profile can be trusted: its number of samples, what is missing from it, and how it was
 * taken. Every output says this.
 */
#ifndef SPROF_SUMMARY_H
#define SPROF_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;
struct column_info;
struct tree;

struct summary {
	uint64_t total;	   /* weight, in the unit of the column */
	uint64_t samples;  /* events of the column shown, see column_info */
	uint64_t filtered; /* weight that filters removed */
	uint64_t filtered_samples;
	uint64_t idle; /* weight of idle waits, which are folded away */
	uint64_t idle_samples, idle_threads;
	uint64_t lost;	     /* taken, but not in the profile */
	bool lost_more;	     /* `lost` is a lower bound */
	uint64_t incomplete; /* stacks that do not reach the root */
	uint64_t incomplete_by[NR_MARKERS];
	uint64_t unnamed;     /* samples in code without a name */
	uint64_t throttled;   /* times the kernel throttled sampling */
	uint64_t limits;      /* times a table was full */
	uint64_t duration_ns; /* 0 = unknown */
	/* of the total of sampled memory, at a confidence of 95 %; 0 in other columns */
	uint64_t margin;
	uint64_t live_ns;      /* the moment of memory in use, after the start */
	uint64_t live_from_ns; /* of leaks: from here to live_ns they were allocated */
	enum profile_live_kind live;
	/* bytes that the processes held: see struct fact_memory_held and fact_tensor_memory */
	uint64_t held_before, held_after;
	uint64_t nr_unhooked;		     /* allocation functions that could not be hooked */
	const struct fact_process_end *ends; /* of processes, before the recording's, or NULL */
	size_t nr_ends;
	uint64_t start_ns;
	uint32_t freq_hz; /* 0 = unknown */
	enum profile_column column;
	const struct column_info *info;	      /* of the column */
	bool unfinished;		      /* the recorder died, or the recording is damaged */
	const char *note;		      /* how that happened, in words */
	const char *command, *source, *event; /* the profile's strings, "" = unknown */
};

/* `note` says what happened to an unfinished recording, else "". Strings are borrowed. */
void summary_init(struct summary *s, const struct profile *p, const struct tree *tree,
		  const char *note);

/* Takes over the counts about stacks, for a profile whose stacks were rewritten since. */
void summary_keep_trust(struct summary *s, const struct summary *before);

/* "1240 samples, 0 lost, 0.1% incomplete (...), ...": what the numbers rest on, one line. */
void summary_add_trust(struct buffer *b, const struct summary *s);
/* "30.2 s at 99 Hz, cpu-clock by ebpf", "GPU time in 30.2 s"; nothing if unknown. */
void summary_add_origin(struct buffer *b, const struct summary *s);
/*
 * What 100% is: "2.13 s of CPU time in 4.96 s, 999 samples a second · 10% on a box means 8.7% to
 * 11% · cpu-clock by ebpf".
 */
void summary_add_whole(struct buffer *b, const struct summary *s);
/* "12 ± 3 samples"; "12 launches" if every one was counted. Without `unicode`: +-. */
void summary_add_events(struct buffer *b, const struct summary *s, uint64_t events, bool unicode);
/* The number of events for a cell of a table: "12±3", "12". */
void summary_add_count(struct buffer *b, const struct summary *s, uint64_t events, bool unicode);
/* "±3" of that many events; nothing if every one was counted. */
void summary_add_margin(struct buffer *b, const struct summary *s, uint64_t events, bool unicode);
/* "self 12%, 1.24 s; total 40%, 4.10 s; 410 ± 31 samples", `total_events` of the total. */
void summary_add_sums(struct buffer *b, const struct summary *s, uint64_t self, uint64_t total,
		      uint64_t total_events, bool unicode);
/* A value in the unit of the column: "1.24 s", "1.24 GB", or a plain number. */
void summary_add_value(struct buffer *b, const struct summary *s, uint64_t value);

#endif
