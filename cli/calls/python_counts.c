/*
 * Turns the events of Python's probes into facts. Imports nest: what a module imports lies between
 * its own beginning and end, in the same thread, so a stack of open imports per thread gives each
 * its own time.
 */
#include "cli/calls/python_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/source.h"
#include "sampler/bpf/calls.h"

#define MAX_DEPTH 1000 /* Python's own limit of recursion */

struct import {
	uint64_t id, start_ns, inner_ns; /* inner_ns: of the imports inside it */
	char module[sizeof(((struct import_event *)NULL)->module)];
};

/* What a thread is importing, outermost first. */
struct importer {
	uint32_t tgid, tid;
	struct import *stack;
	size_t depth, capacity;
};

struct python_counts {
	struct call_counts *probes;
	struct sink *sink; /* used while imports are read */
	uint64_t late_ns[NR_CALL_PROBES_EVENTS];
	struct importer *importers;
	size_t nr_importers, importers_capacity;
	uint64_t nr_imports;
	struct fact_calls *rows; /* by function */
	size_t nr_rows, rows_capacity;
};

int python_counts_event(const char *word)
{
	static const char *const words[NR_CALL_PROBES_EVENTS] = {
		[CALL_PROBES_FUNCTIONS] = "python",
		[CALL_PROBES_GC] = "gc",
		[CALL_PROBES_IMPORTS] = "imports",
	};

	for (int i = 0; i < NR_CALL_PROBES_EVENTS; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

struct python_counts *python_counts_new(struct call_counts *probes)
{
	struct python_counts *c = xcalloc(1, sizeof(*c));

	c->probes = probes;
	return c;
}

void python_counts_free(struct python_counts *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nr_importers; i++)
		free(c->importers[i].stack);
	free(c->importers);
	free(c->rows);
	free(c);
}

void python_counts_late(struct python_counts *c, enum call_counts_event event, uint64_t ns)
{
	if (ns > c->late_ns[event])
		c->late_ns[event] = ns;
}

/* A thread that has no open import leaves its place to another: few threads import at a time. */
static struct importer *find_importer(struct python_counts *c, uint32_t tgid, uint32_t tid)
{
	struct importer *idle = NULL;

	for (size_t i = 0; i < c->nr_importers; i++) {
		struct importer *t = &c->importers[i];

		if (t->tid == tid && t->tgid == tgid)
			return t;
		if (!t->depth)
			idle = t;
	}
	if (!idle) {
		c->importers = xgrow(c->importers, &c->importers_capacity, c->nr_importers + 1,
				     sizeof(*c->importers));
		idle = &c->importers[c->nr_importers++];
		*idle = (struct importer){ 0 };
	}
	idle->tgid = tgid;
	idle->tid = tid;
	return idle;
}

static void begin_import(struct python_counts *c, struct importer *t, const struct import_event *e)
{
	struct import *i;

	if (t->depth == MAX_DEPTH)
		t->depth = 0; /* the ends of its imports were lost */
	t->stack = xgrow(t->stack, &t->capacity, t->depth + 1, sizeof(*t->stack));
	i = &t->stack[t->depth++];
	*i = (struct import){ .id = ++c->nr_imports, .start_ns = e->time_ns };
	memcpy(i->module, e->module, sizeof(i->module));
}

/*
 * An end whose beginning was not seen is dropped. An import whose end was lost is dropped when the
 * import around it ends.
 */
static void end_import(struct python_counts *c, struct importer *t, const struct import_event *e)
{
	size_t at = t->depth;
	const struct import *i;
	uint64_t ns;

	while (at && strcmp(t->stack[at - 1].module, e->module) != 0)
		at--;
	if (!at)
		return;
	i = &t->stack[at - 1];
	ns = e->time_ns > i->start_ns ? e->time_ns - i->start_ns : 0;
	c->sink->fact(c->sink, FACT_IMPORT,
		      &(struct fact_import){
			      .pid = t->tgid,
			      .id = i->id,
			      .parent = at > 1 ? t->stack[at - 2].id : 0,
			      .name = sink_cstring(c->sink, i->module),
			      .found = e->found,
			      .start_ns = i->start_ns,
			      .total_ns = ns,
			      .self_ns = ns > i->inner_ns ? ns - i->inner_ns : 0,
		      });
	t->depth = at - 1;
	if (t->depth)
		t->stack[t->depth - 1].inner_ns += ns;
}

static void on_import(void *context, const struct import_event *e)
{
	struct python_counts *c = context;
	struct importer *t = find_importer(c, e->tgid, e->tid);

	if (e->is_end)
		end_import(c, t, e);
	else
		begin_import(c, t, e);
}

void python_counts_read(struct python_counts *c, struct sink *sink)
{
	c->sink = sink;
	call_counts_read_imports(c->probes, on_import, c);
	c->sink = NULL;
}

static void add_function(void *context, const char *file, const char *name, uint32_t line,
			 uint64_t calls)
{
	struct python_counts *c = context;

	c->rows = xgrow(c->rows, &c->rows_capacity, c->nr_rows + 1, sizeof(*c->rows));
	c->rows[c->nr_rows++] = (struct fact_calls){
		.kind = FUNCTION_PYTHON,
		.name = sink_cstring(c->sink, name),
		.module = sink_cstring(c->sink, ""),
		.file = sink_cstring(c->sink, file),
		.line = line,
		.calls = calls,
		.late_ns = c->late_ns[CALL_PROBES_FUNCTIONS],
	};
}

static int compare_functions(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct fact_calls, calls));
}

/* Merges the rows of a function that several processes run into one. */
static void write_functions(struct python_counts *c)
{
	call_counts_each_python(c->probes, add_function, c);
	if (c->nr_rows)
		qsort(c->rows, c->nr_rows, sizeof(*c->rows), compare_functions);
	for (size_t i = 0; i < c->nr_rows; i++) {
		if (i + 1 < c->nr_rows && !compare_functions(&c->rows[i], &c->rows[i + 1]))
			c->rows[i + 1].calls += c->rows[i].calls;
		else
			c->sink->fact(c->sink, FACT_CALLS, &c->rows[i]);
	}
}

static void write_gc(void *context, const struct gc_key *key, const struct gc_sum *sum)
{
	struct python_counts *c = context;

	c->sink->fact(c->sink, FACT_GC,
		      &(struct fact_gc){
			      .pid = key->tgid,
			      .generation = key->generation,
			      .collections = sum->nr,
			      .total_ns = sum->total_ns,
			      .max_ns = sum->max_ns,
			      .freed = sum->freed,
			      .late_ns = c->late_ns[CALL_PROBES_GC],
		      });
}

void python_counts_write(struct python_counts *c, struct sink *sink)
{
	uint64_t left_out = call_counts_nr_left_out(c->probes);

	c->sink = sink;
	write_functions(c);
	call_counts_each_gc(c->probes, write_gc, c);
	c->sink = NULL;
	if (left_out)
		log_warning("%" PRIu64 " calls, collections or imports of Python are not counted: "
			    "there are too many at a time, or their names cannot be read",
			    left_out);
}
