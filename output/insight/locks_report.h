/*
 * Which threads waited for which locks, and which held them: a table made from FACT_LOCK_WAIT
 * (core/profile/facts.h).
 */
#ifndef SPROF_LOCKS_REPORT_H
#define SPROF_LOCKS_REPORT_H

#include <stdbool.h>

struct buffer;
struct grid_report_opts;
struct profile;

/*
 * The lock with the longest waits first, its threads below it. Returns false, with nothing written,
 * if the profile has no such facts.
 */
bool locks_report_write(struct buffer *b, const struct profile *p,
			const struct grid_report_opts *opts);

#endif
