/*
 * Writes the counted calls of functions as a table, sorted by number. Native functions and Python
 * functions share it.
 */
#include "output/insight/calls_report.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/base/path.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/text/text.h"

static int by_calls(const void *a, const void *b)
{
	const struct fact_calls *x = *(const struct fact_calls *const *)a;
	const struct fact_calls *y = *(const struct fact_calls *const *)b;

	return ORDER(y->calls, x->calls) ?: ORDER(x, y);
}

static bool any_late(const struct profile *p)
{
	const struct fact_calls *c;
	size_t nr;

	c = facts_rows(p, FACT_CALLS, &nr);
	for (size_t i = 0; i < nr; i++)
		if (c[i].late_ns)
			return true;
	return false;
}

/* Where the function is, as people say it: "libc.so.6", "train.py:12". */
static void add_place(struct grid *g, const struct profile *p, const struct fact_calls *c)
{
	bool python = c->kind == FUNCTION_PYTHON;
	const char *path = profile_str(p, (uint32_t)(python ? c->file : c->module));
	struct buffer place = { 0 };

	buffer_add_string(&place, path_base_name(path));
	if (python)
		buffer_printf(&place, ":%llu", (unsigned long long)c->line);
	buffer_add_char(&place, '\0');
	grid_text(g, place.data);
	buffer_fini(&place);
}

static bool fill(struct grid *g, const struct profile *p)
{
	uint64_t start = p->meta.start_ns, end = p->meta.end_ns;
	uint64_t duration = end > start ? end - start : 0;
	const struct fact_calls *all, **rows;
	size_t nr;

	all = facts_rows(p, FACT_CALLS, &nr);
	rows = xcalloc(nr + 1, sizeof(*rows));
	for (size_t i = 0; i < nr; i++)
		rows[i] = &all[i];
	qsort(rows, nr, sizeof(*rows), by_calls);
	for (size_t i = 0; i < nr; i++) {
		const struct fact_calls *c = rows[i];
		bool python = c->kind == FUNCTION_PYTHON;

		grid_count(g, c->calls);
		if (duration > c->late_ns)
			grid_per_second(g, c->calls, duration - c->late_ns);
		else
			grid_none(g);
		grid_time(g, c->late_ns);
		grid_text(g, python ? "python" : "native");
		grid_text(g, profile_str(p, (uint32_t)c->name));
		grid_text(g, profile_str(p, (uint32_t)c->module));
		grid_text(g, profile_str(p, (uint32_t)c->file));
		grid_count(g, python ? c->line : 0);
		add_place(g, p, c);
	}
	free(rows);
	return nr > 0;
}

bool calls_report_write(struct buffer *b, const struct profile *p,
			const struct grid_report_opts *opts)
{
	static const char *const spare[] = { "per_s", NULL };
	bool late = any_late(p);
	const struct grid_column columns[] = {
		{ "calls", "Calls", false },
		{ "per_s", "Calls/s", false },
		{ "late_ns", late ? "After" : NULL, false },
		{ "kind", NULL, true },
		{ "function", "Function", true },
		{ "module", NULL, true },
		{ "file", NULL, true },
		{ "line", NULL, false },
		{ NULL, "In", true },
	};
	struct grid g;
	bool any;

	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	any = fill(&g, p);
	g.spare = spare;
	if (any && late && !opts->json)
		buffer_add_string(b, "After: the time from the start until a file that was mapped "
				     "later began to be counted.\n\n");
	if (any)
		grid_report_write_counted(b, &g, "calls", opts);
	grid_fini(&g);
	return any;
}
