/*
 * How often functions were called, as sprof record --calls counted it: a table made from FACT_CALLS
 * (core/profile/facts.h).
 */
#ifndef SPROF_CALLS_REPORT_H
#define SPROF_CALLS_REPORT_H

#include <stdbool.h>

struct buffer;
struct grid_report_opts;
struct profile;

/* Most calls first. Returns false, with nothing written, if the profile has no such facts. */
bool calls_report_write(struct buffer *b, const struct profile *p,
			const struct grid_report_opts *opts);

#endif
