/* Writes counted system calls as a table, by total time. */
#include "output/report/syscalls_report.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/portable/call_times.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"

static int by_total(const void *a, const void *b)
{
	const struct fact_system_call *x = *(const struct fact_system_call *const *)a;
	const struct fact_system_call *y = *(const struct fact_system_call *const *)b;

	return ORDER(y->total_ns, x->total_ns) ?: ORDER(x->number, y->number);
}

static void add_percentile(struct grid *g, uint64_t ns)
{
	if (ns == PERCENTILE_UNKNOWN)
		grid_none(g);
	else
		grid_time(g, ns);
}

/*
 * Reads the histogram of a row into CALL_BUCKETS numbers. false: not all of these calls are in it,
 * as an older version recorded some.
 */
static bool read_times(const struct profile *p, const struct fact_system_call *c, __u64 *calls)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < CALL_BUCKETS; i++) {
		const struct fact_call_times *octave = facts_find(
			p, FACT_CALL_TIMES, (const uint64_t[]){ c->number, i / CALL_OCTAVE });

		calls[i] = octave ? octave->calls[i % CALL_OCTAVE] : 0;
		nr += calls[i];
	}
	return nr && nr == c->calls;
}

static void add_percentiles(struct grid *g, const struct profile *p,
			    const struct fact_system_call *c)
{
	__u64 calls[CALL_BUCKETS];
	bool known = read_times(p, c, calls);

	add_percentile(g, known ? call_times_percentile(calls, 50, c->max_ns) : c->p50_ns);
	add_percentile(g, known ? call_times_percentile(calls, 99, c->max_ns) : c->p99_ns);
}

static bool fill(struct grid *g, const struct profile *p)
{
	const struct fact_system_call *all, **rows;
	size_t nr;

	all = facts_rows(p, FACT_SYSTEM_CALL, &nr);
	rows = xcalloc(nr + 1, sizeof(*rows));
	for (size_t i = 0; i < nr; i++)
		rows[i] = &all[i];
	qsort(rows, nr, sizeof(*rows), by_total);
	for (size_t i = 0; i < nr; i++) {
		const struct fact_system_call *c = rows[i];

		grid_time(g, c->total_ns);
		grid_count(g, c->calls);
		grid_count(g, c->errors);
		add_percentiles(g, p, c);
		grid_time(g, c->max_ns);
		grid_text(g, profile_str(p, (uint32_t)c->name));
	}
	free(rows);
	return nr > 0;
}

/* The samples of long calls are in a column of their own. */
static void add_long_calls(struct buffer *b, const struct profile *p)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < p->nr_samples; i++)
		nr += p->samples[i].column == COLUMN_LONG_CALLS;
	if (nr)
		buffer_printf(b,
			      "\n%llu calls took as long as --syscalls asked for; sprof report, "
			      "fold and flame --column long-calls show their stacks\n",
			      (unsigned long long)nr);
}

bool syscalls_report_write(struct buffer *b, const struct profile *p,
			   const struct grid_report_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "total_ns", "Total", false }, { "calls", "Calls", false },
		{ "errors", "Errors", false },	{ "p50_ns", "p50", false },
		{ "p99_ns", "p99", false },	{ "max_ns", "Longest", false },
		{ "call", "Call", true },
	};
	struct grid g;
	bool any;

	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	any = fill(&g, p);
	if (any)
		grid_report_write_counted(b, &g, "syscalls", opts);
	if (any && !opts->json)
		add_long_calls(b, p);
	grid_fini(&g);
	return any;
}
