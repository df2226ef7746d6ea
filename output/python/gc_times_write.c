/*
 * Writes the time in Python's garbage collector as a table: first what was counted, by process and
 * generation, then the samples: the whole, and each line. What samples cannot know is a dash, or
 * null.
 */
#include "output/python/gc_times.h"

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/report/table.h"
#include "output/report/table_json.h"
#include "output/text/number.h"
#include "output/tree/summary.h"

static void add_row(struct grid *g, const struct summary *s, uint64_t value, uint64_t events)
{
	grid_share(g, value, s->total);
	grid_value(g, s->column, value);
	grid_report_events(g, events, s);
}

/* Fills in the exact counts, by process and generation. */
static void fill_counted(struct grid *g, const struct gc_times *times)
{
	static const struct grid_column columns[] = {
		{ "pid", "Process", false },
		{ "generation", "Generation", false },
		{ "collections", "Collections", false },
		{ "total_ns", "Time", false },
		{ "average_ns", "Average", false },
		{ "max_ns", "Longest", false },
		{ "freed", "Freed", false },
		{ "late_ns", NULL, false },
	};

	grid_init(g, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < times->nr_counted; i++) {
		const struct fact_gc *c = &times->counted[i];

		grid_count(g, c->pid);
		grid_count(g, c->generation);
		grid_count(g, c->collections);
		grid_time(g, c->total_ns);
		grid_time(g, number_scale(c->total_ns, 1, c->collections));
		grid_time(g, c->max_ns);
		grid_count(g, c->freed);
		grid_time(g, c->late_ns);
	}
}

static void add_collections(struct grid *g, const struct gc_times *times, bool with_counts)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < times->nr_counted; i++)
		nr += times->counted[i].collections;
	if (with_counts && times->nr_counted)
		grid_count(g, nr);
	else
		grid_none(g);
}

void gc_times_write(struct buffer *b, const struct gc_times *times, const struct profile *p,
		    const struct summary *summary, bool with_counts,
		    const struct grid_report_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "percent", "Time%", false },	 { "time", "Time", false },
		{ "samples", "Samples", false }, { "collections", "Collections", false },
		{ "line", "Line", false },	 { "function", "Function", true },
		{ "file", NULL, true },
	};
	static const char *const spare[] = { "collections", NULL };
	struct grid g, counted;

	fill_counted(&counted, with_counts ? times : &(struct gc_times){ 0 });
	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	g.spare = spare;
	add_row(&g, summary, times->value, times->events);
	add_collections(&g, times, with_counts);
	grid_none(&g);
	grid_text(&g, "all");
	grid_text(&g, "");
	for (size_t i = 0; i < times->nr_rows; i++) {
		const struct gc_row *row = &times->rows[i];
		const struct profile_function *f =
			row->function == PROFILE_NONE ? NULL : &p->functions[row->function];

		add_row(&g, summary, row->value, row->events);
		grid_none(&g);
		if (row->line)
			grid_count(&g, row->line);
		else
			grid_none(&g);
		grid_text(&g, f ? profile_str(p, f->name) : "[no Python code]");
		grid_text(&g, f ? profile_str(p, f->file) : "");
	}
	if (opts->json) {
		report_json_write_grids(b, summary, "gc", &g, opts->max_rows, "generations",
					&counted);
	} else {
		table_add_head(b, summary);
		if (counted.nr_cells) {
			grid_write_text(b, &counted, 0);
			buffer_add_char(b, '\n');
		}
		grid_write_text(b, &g, opts->max_rows);
	}
	grid_fini(&g);
	grid_fini(&counted);
}
