/* The system calls that targets made: a table made from FACT_SYSTEM_CALL (core/profile/facts.h). */
#ifndef SPROF_SYSCALLS_REPORT_H
#define SPROF_SYSCALLS_REPORT_H

#include <stdbool.h>

struct buffer;
struct grid_report_opts;
struct profile;

/* Most time first. Returns false, with nothing written, if the profile has no such facts. */
bool syscalls_report_write(struct buffer *b, const struct profile *p,
			   const struct grid_report_opts *opts);

#endif
