/*
 * Hints: what is wrong with a program in a way that its stacks prove, with the evidence and the remedy. Each
 * is a rule: functions that a stack has to go through, the share of the time from which it is worth a word,
 * and what to do. A hint is given only where the samples leave no doubt that the share is that large: where
 * the lower end of its 95% interval is, and no less than HINTS_MIN_SAMPLES samples say so.
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
	const char *code;	    /* for programs: stable */
	const char *title, *remedy; /* for people */
	enum profile_column column;
	uint64_t weight, whole; /* in it, and of all in that column */
	uint64_t samples, whole_samples;
	uint32_t min_percent; /* from which it is given */
	uint32_t last_ms;     /* the last such sample since the recording began; 0 = unknown */
	char *where;	      /* the Python function that most of it is below; "" = none; owned */
	uint64_t where_weight;
};

struct hints {
	struct hint *list; /* largest share first */
	size_t nr;
};

/* Looks at every column that the rules are about. */
void hints_init(struct hints *hints, const struct profile *p);
void hints_fini(struct hints *hints);

struct hints_opts {
	bool json, unicode;
};

void hints_write(struct buffer *b, const struct hints *hints, const struct summary *summary,
		 const struct hints_opts *opts);

#endif
