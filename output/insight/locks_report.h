/*
 * Which threads waited for which locks, and which held them: a table made from FACT_LOCK_WAIT
 * (core/profile/facts.h).
 */
#ifndef SPROF_LOCKS_REPORT_H
#define SPROF_LOCKS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;

struct locks_report_opts {
	uint32_t max_rows; /* 0 = all */
	bool json;
	size_t columns; /* as max_width of struct grid */
};

/*
 * The lock with the longest waits first, its threads below it. Returns false, with nothing written,
 * if the profile has no such facts.
 */
bool locks_report_write(struct buffer *b, const struct profile *p,
			const struct locks_report_opts *opts);

#endif
