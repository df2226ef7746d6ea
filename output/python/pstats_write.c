/*
 * Writes functions as pstats prints them: times in seconds, sorted by own or by cumulative time, as
 * text or JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/text/number.h"
#include "output/python/pstats.h"
#include "output/tree/functions.h"

/* Equal functions stay in the order of their names. */
static int compare_functions(const void *a, const void *b, void *key)
{
	const struct pstats_function *f = *(const struct pstats_function *const *)a;
	const struct pstats_function *g = *(const struct pstats_function *const *)b;

	return ranking_order(*(enum ranking_key *)key, f->self, f->total, g->self, g->total)
		       ?: ORDER(f, g);
}

static void add_times(struct grid *g, const struct pstats_function *f, uint64_t ns)
{
	grid_seconds(g, ns, 3);
	if (f->calls_known && f->calls)
		grid_seconds(g, number_scale(ns, 1, f->calls), 6);
	else
		grid_none(g);
}

/* "/src/train.py:12(step)"; only the name for a function without a file. */
static void add_place(struct grid *g, const struct tree_function *f)
{
	struct buffer place = { 0 };
	int size = (int)pstats_name_size(f);

	if (strcmp(pstats_file(f), "~"))
		buffer_printf(&place, "%s:%u(%.*s)", pstats_file(f), pstats_line(f), size, f->name);
	else
		buffer_printf(&place, "%.*s", size, f->name);
	grid_text(g, buffer_cstring(&place));
	buffer_fini(&place);
}

static void add_row(struct grid *g, const struct pstats_function *f)
{
	char *name = xasprintf("%.*s", (int)pstats_name_size(f->function), f->function->name);

	if (f->calls_known)
		grid_count(g, f->calls);
	else
		grid_none(g);
	add_times(g, f, f->self);
	add_times(g, f, f->total);
	add_place(g, f->function);
	grid_text(g, pstats_file(f->function));
	grid_count(g, pstats_line(f->function));
	grid_text(g, name);
	free(name);
}

void pstats_write(struct buffer *b, const struct pstats *stats, const struct summary *summary,
		  enum ranking_key key, const struct grid_report_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "ncalls", "ncalls", false },
		{ "tottime_ns", "tottime", false },
		{ "tottime_percall_ns", "percall", false },
		{ "cumtime_ns", "cumtime", false },
		{ "cumtime_percall_ns", "percall", false },
		{ NULL, "filename:lineno(function)", true },
		{ "file", NULL, true },
		{ "line", NULL, false },
		{ "function", NULL, true },
	};
	static const char *const spare[] = { "cumtime_percall_ns", "tottime_percall_ns", NULL };
	const struct pstats_function **order = xcalloc(stats->nr_functions + 1, sizeof(*order));
	struct grid g;

	for (size_t i = 0; i < stats->nr_functions; i++)
		order[i] = &stats->functions[i];
	qsort_r(order, stats->nr_functions, sizeof(*order), compare_functions, &key);
	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	g.spare = spare;
	for (size_t i = 0; i < stats->nr_functions; i++)
		add_row(&g, order[i]);
	grid_report_write(b, &g, summary, "pstats", opts);
	grid_fini(&g);
	free(order);
}
