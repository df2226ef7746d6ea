/*
 * The limits of a source's tables. Every hit is counted; the count and the words of each limit go
 * into the recording as a fact (FACT_LIMIT), from which sprof record says them once at its end and
 * sprof info later.
 */
#ifndef SPROF_LIMITS_H
#define SPROF_LIMITS_H

#include <stdint.h>

#include "core/profile/facts.h"

struct file_table;
struct sink;

struct limits {
	struct {
		char *text; /* NULL: not hit */
		uint64_t nr, nr_told;
	} of[NR_LIMITS];
};

void limits_fini(struct limits *limits);
/* Counts a limit that was hit. The text of its first hit is kept. */
void limit_hit(struct limits *limits, enum limit limit, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a limit that is counted elsewhere: `nr` hits so far. */
void limit_set(struct limits *limits, enum limit limit, uint64_t nr, const char *text);
/* Sets those that a file table counts. */
void limits_set_files(struct limits *limits, struct file_table *files);
/* Sets the stacks whose callers were not guessed (snapshot_unwind.h). */
void limits_set_guesses(struct limits *limits, uint64_t nr_refused);
uint64_t limits_total(const struct limits *limits);
/* Tells the sink of the limits whose counts have changed since the last call. */
void limits_tell(struct limits *limits, struct sink *sink);

#endif
