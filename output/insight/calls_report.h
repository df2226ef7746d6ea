/*
 * How often functions were called, as sprof record --calls counted it: a table made from FACT_CALLS
 * (core/profile/facts.h).
 */
#ifndef SPROF_CALLS_REPORT_H
#define SPROF_CALLS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;

struct calls_report_opts {
	uint32_t max_rows; /* 0 = all */
	bool json;
	size_t columns; /* as max_width of struct grid */
};

/* Most calls first. Returns false, with nothing written, if the profile has no such facts. */
bool calls_report_write(struct buffer *b, const struct profile *p,
			const struct calls_report_opts *opts);

#endif
