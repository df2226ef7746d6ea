/*
 * The system calls that targets made: a table made from FACT_SYSTEM_CALL (core/profile/facts.h).
 */
#ifndef SPROF_SYSCALLS_REPORT_H
#define SPROF_SYSCALLS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;

struct syscalls_report_opts {
	uint32_t max_rows; /* 0 = all */
	bool json;
	size_t columns; /* as max_width of struct grid */
};

/* Most time first. Returns false, with nothing written, if the profile has no such facts. */
bool syscalls_report_write(struct buffer *b, const struct profile *p,
			   const struct syscalls_report_opts *opts);

#endif
