/*
 * Adds up entries, each one FACT_GPU_FLOPS with its kernels: each is added to the row of its name,
 * and by range to the rows of all ranges around it.
 */
#include "output/kernels/flops_report.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"
#include "output/kernels/gpu_peak.h"
#include "output/insight/operators.h"
#include "output/tree/naming.h"
#include "output/tree/program_function.h"

#define MAX_SOURCES 4096 /* bytes */

struct entry {
	const struct fact_gpu_flops *fact;
	const struct fact_gpu_flops_work *works; /* its kernels */
	size_t nr_works;
	unsigned __int128 flops;
	uint64_t gpu_ns;
	double ideal_ns;
	bool has_peak;
};

/* What naming a row needs. */
struct context {
	const struct profile *p;
	struct tree_functions names;
	struct flops_rows *rows;
	struct number_map *index; /* of the rows, by a hash of their names */
	enum flops_by by;
};

static int by_entry(const void *a, const void *b)
{
	const struct fact_gpu_flops_work *x = a, *y = b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->id, y->id);
}

/* Adds without overflow, as a file may hold any numbers. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The part of an entry's operations that a kernel with this time gets: shared by time. */
static unsigned __int128 part_of(const struct entry *e, uint64_t ns)
{
	if (!e->gpu_ns || ns >= e->gpu_ns)
		return e->gpu_ns ? e->flops : 0;
	return e->flops < (unsigned __int128)1 << 64
		       ? e->flops * ns / e->gpu_ns
		       : (unsigned __int128)((double)e->flops * ((double)ns / (double)e->gpu_ns));
}

static double peak_of(const struct profile *p, const struct entry *e,
		      const struct fact_gpu_flops_work *w)
{
	const char *source;

	return gpu_peak(p, facts_gpu_device(p, w->pid, w->device), e->fact->type, &source);
}

static void take_works(struct entry *e, const struct profile *p,
		       const struct fact_gpu_flops_work *works, size_t nr)
{
	const struct fact_gpu_flops_work key = { .pid = e->fact->pid, .id = e->fact->id }, *first;

	first = bsearch(&key, works, nr, sizeof(key), by_entry);
	e->flops = (unsigned __int128)(e->fact->high & UINT32_MAX) << 64 | e->fact->low;
	if (!first)
		return;
	while (first > works && !by_entry(first - 1, &key))
		first--;
	e->works = first;
	while (first + e->nr_works < works + nr && !by_entry(first + e->nr_works, &key))
		e->gpu_ns = add(e->gpu_ns, e->works[e->nr_works++].total_ns);
	e->has_peak = e->gpu_ns > 0;
	for (size_t i = 0; i < e->nr_works; i++) {
		double peak = peak_of(p, e, &e->works[i]);

		e->has_peak &= peak > 0;
		if (peak > 0)
			e->ideal_ns += (double)part_of(e, e->works[i].total_ns) / peak * 1e9;
	}
}

static struct flops_row *row_of(const struct context *c, const char *name, size_t size)
{
	bool is_new;
	uint32_t *index = number_map_at(c->index, XXH3_64bits(name, size), &is_new);
	struct flops_rows *rows = c->rows;
	struct flops_row *r;

	if (!is_new)
		return &rows->list[*index];
	*index = (uint32_t)rows->nr;
	rows->list = xgrow(rows->list, &rows->capacity, rows->nr + 1, sizeof(*rows->list));
	r = &rows->list[rows->nr++];
	*r = (struct flops_row){ .name = xasprintf("%.*s", (int)size, name), .has_peak = true };
	return r;
}

/* Appends a source, unless it is there already, or a file names more than any program has. */
static void add_source(struct buffer *b, const char *call, uint64_t source)
{
	static const char *const of[] = {
		[GPU_FLOPS_ARGUMENTS] = "arguments",
		[GPU_FLOPS_LAYOUTS] = "layouts",
		[GPU_FLOPS_DESCRIPTORS] = "descriptors",
		[GPU_FLOPS_PLAN] = "plan",
	};
	bool is_known = source < sizeof(of) / sizeof(*of) && of[source];
	char *text = xasprintf("%s %s", call, is_known ? of[source] : "(source not known)");
	const char *at = b->size ? strstr(buffer_cstring(b), text) : NULL;

	if (!at && b->size < MAX_SOURCES)
		buffer_printf(b, "%s%s", b->size ? ", " : "", text);
	free(text);
}

static void add_entry(const struct context *c, const struct entry *e, struct flops_row *r)
{
	const struct fact_gpu_flops *f = e->fact;

	r->flops += e->flops;
	r->calls = add(r->calls, f->calls);
	r->unknown = add(r->unknown, f->unknown);
	r->failed = add(r->failed, f->failed);
	r->captured = add(r->captured, f->captured);
	r->saturated = add(r->saturated, f->saturated);
	r->gpu_ns = add(r->gpu_ns, e->gpu_ns);
	if (!f->calls)
		return;
	r->counted_ns = add(r->counted_ns, e->gpu_ns);
	r->ideal_ns += e->ideal_ns;
	r->has_peak &= e->has_peak;
	if (f->type < GPU_NR_FLOPS_TYPES)
		r->types |= 1u << f->type;
	add_source(&r->from,
		   f->id ? profile_str(c->p, (uint32_t)f->call) : "calls without room:", f->source);
}

static void add_kernels(const struct context *c, const struct entry *e)
{
	for (size_t i = 0; i < e->nr_works; i++) {
		const struct fact_gpu_flops_work *w = &e->works[i];
		const char *name = profile_str(c->p, (uint32_t)w->name);
		struct flops_row *r = row_of(c, name, strlen(name));
		struct fact_gpu_flops fact = *e->fact;
		struct entry part = { .fact = &fact, .gpu_ns = w->total_ns };
		double peak = peak_of(c->p, e, w);

		part.flops = part_of(e, w->total_ns);
		part.has_peak = peak > 0;
		part.ideal_ns = peak > 0 ? (double)part.flops / peak * 1e9 : 0;
		fact.failed = fact.captured = fact.saturated = 0;
		fact.unknown = fact.calls ? 0 : w->launches;
		fact.calls = fact.calls ? w->launches : 0;
		add_entry(c, &part, r);
	}
}

/* The innermost line of the program so far, else of any code: the name of a row by line. */
struct place {
	uint32_t function, line;
	bool is_own;
};

static void take_line(struct place *best, const struct tree_function *f, uint32_t function,
		      uint32_t line)
{
	bool is_own = f->kind == FUNCTION_PYTHON && program_function_is(f);

	if (!line || !*f->file || (best->is_own && !is_own))
		return;
	*best = (struct place){ function, line, is_own };
}

/* Names the row of a stack: by operator, by line or by function. The caller frees the name. */
static char *name_of(const struct context *c, const struct profile_stack *stack)
{
	struct naming_walk at = { .p = c->p, .names = &c->names, .stack = stack };
	struct place place = { 0 };
	const struct tree_function *leaf = NULL;
	const char *operator= NULL;
	size_t size = 0;

	while (naming_next(&at)) {
		uint32_t function = FRAME_FUNCTION(at.code);
		const struct tree_function *f = &c->names.list[function];
		size_t length = 0;
		const char *found =
			f->kind == FUNCTION_RANGE ? f->name : operators_name(f->name, &length);

		if (f->kind == FUNCTION_RANGE)
			length = operators_range_length(f->name);
		else
			leaf = f;
		/* ranges come last, and may be named after anything */
		if (found && (f->kind != FUNCTION_RANGE || !operator|| strstr(f->name, "::"))) {
			operator= found;
			size = length;
		}
		take_line(&place, f, function, at.line);
	}
	if (c->by == FLOPS_BY_OPERATOR)
		return operator? xasprintf("%.*s", (int)size, operator) : xstrdup("[no operator]");
	if (c->by == FLOPS_BY_LINE && place.line)
		return xasprintf("%s:%u", c->names.list[place.function].file, place.line);
	return xstrdup(leaf ? leaf->name : "[no stack]");
}

/* Adds the entry to a row for each range around the call, named by the path to it. */
static void add_ranges(const struct context *c, const struct entry *e,
		       const struct profile_stack *stack)
{
	struct naming_walk at = { .p = c->p, .names = &c->names, .stack = stack };
	struct buffer path = { 0 };

	while (naming_next(&at)) {
		const struct tree_function *f = &c->names.list[FRAME_FUNCTION(at.code)];

		if (f->kind != FUNCTION_RANGE)
			continue;
		buffer_printf(&path, "%s%s", path.size ? " / " : "", f->name);
		add_entry(c, e, row_of(c, path.data, path.size));
	}
	if (!path.size)
		add_entry(c, e, row_of(c, "[no range]", strlen("[no range]")));
	buffer_fini(&path);
}

static void add_by_name(const struct context *c, const struct entry *e)
{
	const struct profile_stack none = { 0 }, *stack = &none;
	const char *call = profile_str(c->p, (uint32_t)e->fact->call);
	char *name;

	if (e->fact->stack < c->p->nr_stacks)
		stack = &c->p->stacks[e->fact->stack];
	if (c->by == FLOPS_BY_RANGE) {
		add_ranges(c, e, stack);
		return;
	}
	name = c->by == FLOPS_BY_CALL ? xstrdup(e->fact->id ? call : "[calls without room]")
				      : name_of(c, stack);
	add_entry(c, e, row_of(c, name, strlen(name)));
	free(name);
}

static int by_flops(const void *a, const void *b)
{
	const struct flops_row *x = a, *y = b;

	return ORDER(y->flops, x->flops) ?: ORDER(y->gpu_ns, x->gpu_ns) ?: strcmp(x->name, y->name);
}

void flops_rows_init(struct flops_rows *rows, const struct profile *p, enum flops_by by)
{
	struct number_map index = { 0 };
	struct context c = { .p = p, .rows = rows, .index = &index, .by = by };
	const struct fact_gpu_flops *facts;
	const struct fact_gpu_flops_work *kept;
	struct fact_gpu_flops_work *works;
	size_t nr, nr_works;

	*rows = (struct flops_rows){ 0 };
	facts = facts_rows(p, FACT_GPU_FLOPS, &nr);
	kept = facts_rows(p, FACT_GPU_FLOPS_WORK, &nr_works);
	works = xcalloc(nr_works + 1, sizeof(*works));
	if (nr_works)
		memcpy(works, kept, nr_works * sizeof(*works));
	qsort(works, nr_works, sizeof(*works), by_entry);
	naming_init(&c.names, p);
	for (size_t i = 0; i < nr; i++) {
		struct entry e = { .fact = &facts[i] };

		take_works(&e, p, works, nr_works);
		if (by == FLOPS_BY_KERNEL)
			add_kernels(&c, &e);
		else
			add_by_name(&c, &e);
	}
	tree_functions_fini(&c.names);
	number_map_fini(&index);
	free(works);
	if (rows->nr)
		qsort(rows->list, rows->nr, sizeof(*rows->list), by_flops);
}

void flops_rows_fini(struct flops_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		free(rows->list[i].name);
		buffer_fini(&rows->list[i].from);
	}
	free(rows->list);
}
