/*
 * The tables of sprof report that are made from what was counted (GPU work, calls, ranges), not
 * from samples.
 */
#ifndef SPROF_FACT_TABLES_H
#define SPROF_FACT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options/terminal.h"

enum report_table {
	REPORT_FUNCTIONS = 0, /* not one of these: a table of samples */
	REPORT_GPU,
	REPORT_API,
	REPORT_MEMCPY,
	REPORT_RANGES,
	REPORT_CALLS,
	REPORT_LOCKS,
	REPORT_SYSCALLS,
	REPORT_OPERATORS,
	REPORT_FLOPS,
	REPORT_STALLS,
};

struct filter;

struct report_facts_opts {
	const char *input, *output; /* as in the other commands */
	/* of a folder, for REPORT_LOCKS and REPORT_SYSCALLS: its times and host; NULL: all */
	const struct filter *filter;
	enum report_table table;
	uint32_t max_rows;
	uint64_t skip;
	const char *rows; /* REPORT_FLOPS: flops_report_write() */
	bool json;
	struct terminal terminal;
};

/* Returns 0 or -errno, reported; -ENODATA if the recording has nothing for that table. */
int report_facts(const struct report_facts_opts *opts);

#endif
