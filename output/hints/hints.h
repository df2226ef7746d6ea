/*
 * Hints: problems of a program that its stacks prove, with the evidence and the remedy. Each hint
 * is a rule: functions that a stack must go through, the share of the time from which it matters,
 * and what to do. A hint is given only if the lower end of the share's 95% interval is that large,
 * and at least HINTS_MIN_SAMPLES samples show it.
 */
#ifndef SPROF_HINTS_H
#define SPROF_HINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;
struct summary;

enum { HINTS_MIN_SAMPLES = 30 };

struct hint {
	const char *code;	    /* for programs: never changes */
	const char *title, *remedy; /* for people */
	enum profile_column column;
	const char *of; /* what it is an exact share of; NULL: of the samples of the column */
	uint64_t weight, whole; /* in the hint, and of all samples of that column */
	uint64_t samples, whole_samples;
	uint32_t min_percent; /* the share from which the hint is given */
	/* time of the last such sample since the recording began; 0 = unknown */
	uint32_t last_ms;
	/* the Python function below which most of it lies; "" = none; owned */
	char *where;
	uint64_t where_weight;
	/* the Python function below which the GIL was held longest; "" = not known; owned */
	char *holder;
	uint32_t holder_tid;	      /* the thread that held it longest there; 0 = not known */
	uint64_t holder_weight, held; /* time with the GIL: of `holder`, and of all code */
	uint64_t held_off_cpu;	      /* part of `held` that was not on a CPU */
	/* processes that load data for the waiting one */
	uint32_t nr_workers;
	struct hint_worker {
		uint32_t pid;
		uint64_t loading, whole; /* the time that it loads, of all its time */
	} busiest, idlest;
	char *worker_where; /* as `where`, of the busiest one; NULL = there is none; owned */
	uint64_t worker_where_weight;
};

struct hints {
	struct hint *list; /* largest share first */
	size_t nr;
};

/* Checks every column that the rules name. */
void hints_init(struct hints *hints, const struct profile *p);
void hints_fini(struct hints *hints);

struct hints_opts {
	bool json, unicode;
};

void hints_write(struct buffer *b, const struct hints *hints, const struct summary *summary,
		 const struct hints_opts *opts);

#endif
