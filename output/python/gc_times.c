/* Stacks are looked at once each; rows are few. */
#include "output/python/gc_times.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/intern.h"
#include "output/tree/cpython.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/report/table_json.h"
#include "output/tree/stack_sums.h"
#include "output/tree/summary.h"
#include "output/report/table.h"

struct adder {
	const struct profile *p;
	struct gc_times *times;
	size_t capacity;
	struct intern index;
};

/* Names that only the collector has. 3.8 and 3.9 call it collect(), which others do too. */
static const char *const anywhere[] = {
	"gc_collect_main",   "gc_collect_with_callback", "gc_collect_generations",
	"gc_collect_region", "gc_collect_young",	 "gc_collect_increment",
	"gc_collect_full",   "gc_collect_internal",	 "PyGC_Collect",
	"_PyGC_Collect",     "_PyGC_CollectNoFail",	 "_PyGC_CollectIfEnabled",
	"_Py_RunGC",
};
static const char *const in_interpreter[] = { "collect", "collect_with_callback",
					      "collect_generations", "gc_collect" };

static bool is_one_of(const char *name, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (cpython_is(name, list[i]))
			return true;
	return false;
}

static bool is_collector(const struct profile *p, const struct profile_frame *frame,
			 const struct profile_function *function)
{
	const char *name = profile_str(p, function->name);

	if (function->kind != FUNCTION_NATIVE)
		return false;
	return is_one_of(name, anywhere, sizeof(anywhere) / sizeof(*anywhere)) ||
	       (cpython_has_frame(p, frame) &&
		is_one_of(name, in_interpreter, sizeof(in_interpreter) / sizeof(*in_interpreter)));
}

/* A frame of an interpreter that has no symbol table. */
static bool is_nameless(const struct profile *p, const struct profile_frame *frame)
{
	if (!cpython_has_frame(p, frame))
		return false;
	return !frame->nr_locations ||
	       p->functions[p->locations[frame->first_location].function].kind == FUNCTION_UNKNOWN;
}

static bool has_nameless(const struct profile *p, const struct profile_stack *stack)
{
	for (uint32_t i = 0; i < stack->nr_frames; i++)
		if (is_nameless(p, &p->frames[p->stack_frames[stack->first_frame + i]]))
			return true;
	return false;
}

/* Whose line it was that had the collector run. False: it does not run here. */
static bool find_trigger(const struct profile *p, const struct profile_stack *stack,
			 uint32_t ret_key[2])
{
	ret_key[0] = PROFILE_NONE;
	ret_key[1] = 0;
	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		const struct profile_frame *frame =
			&p->frames[p->stack_frames[stack->first_frame + i]];

		for (uint32_t k = 0; k < frame->nr_locations; k++) {
			const struct profile_location *at =
				&p->locations[frame->first_location + k];

			if (is_collector(p, frame, &p->functions[at->function]))
				return true;
			if (p->functions[at->function].kind == FUNCTION_PYTHON) {
				ret_key[0] = at->function;
				ret_key[1] = at->line;
			}
		}
	}
	return false;
}

static bool row_equal(const void *owner, uint32_t id, const void *key)
{
	const struct gc_row *row = &((const struct adder *)owner)->times->rows[id];
	const uint32_t *k = key;

	return row->function == k[0] && row->line == k[1];
}

static void add_stack(struct adder *a, const struct profile_stack *stack, uint64_t value,
		      uint64_t events)
{
	struct gc_times *t = a->times;
	uint32_t key[2], id;

	t->is_stripped = t->is_stripped || has_nameless(a->p, stack);
	if (!find_trigger(a->p, stack, key))
		return;
	id = intern_id(&a->index, (uint32_t)XXH3_64bits(key, sizeof(key)), (uint32_t)t->nr_rows,
		       row_equal, a, key);
	if (id == t->nr_rows) {
		t->rows = xgrow(t->rows, &a->capacity, t->nr_rows + 1, sizeof(*t->rows));
		t->rows[t->nr_rows++] = (struct gc_row){ .function = key[0], .line = key[1] };
	}
	t->rows[id].value += value;
	t->rows[id].events += events;
	t->value += value;
	t->events += events;
}

static int by_value(const void *a, const void *b)
{
	const struct gc_row *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

void gc_times_init(struct gc_times *times, const struct profile *p, enum profile_column column)
{
	struct stack_sums sums;
	struct adder a = { .p = p, .times = times };

	*times = (struct gc_times){ 0 };
	times->counted = facts_rows(p, FACT_GC, &times->nr_counted);
	stack_sums_init(&sums, p, column);
	for (size_t i = 0; i < p->nr_stacks; i++)
		if (sums.weights[i] || sums.samples[i])
			add_stack(&a, &p->stacks[i], sums.weights[i], sums.samples[i]);
	if (times->nr_rows)
		qsort(times->rows, times->nr_rows, sizeof(*times->rows), by_value);
	intern_fini(&a.index);
	stack_sums_fini(&sums);
}

void gc_times_fini(struct gc_times *times)
{
	free(times->rows);
	*times = (struct gc_times){ 0 };
}

static void add_row(struct grid *g, const struct summary *s, uint64_t value, uint64_t events)
{
	grid_share(g, value, s->total);
	grid_value(g, s->column, value);
	grid_events(g, events, s);
}

/* Exact, by process and generation. */
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

static void add_collections(struct grid *g, const struct gc_times *times, bool is_whole)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < times->nr_counted; i++)
		nr += times->counted[i].collections;
	if (is_whole && times->nr_counted)
		grid_count(g, nr);
	else
		grid_none(g);
}

void gc_times_write(struct buffer *b, const struct gc_times *times, const struct profile *p,
		    const struct summary *summary, const struct gc_times_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "percent", "Time%", false },	 { "time", "Time", false },
		{ "samples", "Samples", false }, { "collections", "Collections", false },
		{ "line", "Line", false },	 { "function", "Function", true },
		{ "file", NULL, true },
	};
	static const char *const spare[] = { "collections", NULL };
	struct grid g, counted;

	fill_counted(&counted, opts->is_whole ? times : &(struct gc_times){ 0 });
	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	g.spare = spare;
	g.max_width = opts->columns;
	g.unicode = opts->unicode;
	add_row(&g, summary, times->value, times->events);
	add_collections(&g, times, opts->is_whole);
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
