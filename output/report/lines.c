/*
 * Adds up a profile by source line. Stacks are interned, so samples are added up by stack first,
 * and each stack is walked once.
 */
#include "output/report/lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "output/tree/cpython.h"
#include "output/tree/label.h"
#include "output/tree/margins.h"
#include "output/tree/python_name.h"
#include "output/tree/stack_sums.h"

/* A location: a function at a line. */
struct place {
	uint32_t function; /* merged */
	uint32_t line;
	uint32_t row;
};

struct adder {
	const struct profile *p;
	uint32_t *merged; /* by profile function: index in functions[], PROFILE_NONE = no file */
	uint32_t *location_row; /* by location of the profile */
	/* The stamp of the stack that was last added to this row or function; 0 = none yet. */
	uint32_t *row_stamp, *function_stamp, stamp;
	bool of_memory;
	struct lines_function *functions;
	struct lines_row *rows;
	uint32_t *row_function;
	size_t nr_functions, nr_rows;
	uint64_t ends[NR_LINES_ENDS]; /* of all lines */
};

/* ---- functions: those of one name in one file are the same */

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct profile *p = context;
	const struct profile_function *f = &p->functions[*(const uint32_t *)a];
	const struct profile_function *g = &p->functions[*(const uint32_t *)b];

	return ORDER(f->file, g->file) ?: ORDER(f->name, g->name) ?: (int)f->kind - (int)g->kind;
}

static void merge_functions(struct adder *a)
{
	const struct profile *p = a->p;
	uint32_t *order = xmalloc((p->nr_functions + 1) * sizeof(*order));
	uint32_t last = PROFILE_NONE;

	a->merged = xmalloc((p->nr_functions + 1) * sizeof(*a->merged));
	a->functions = xcalloc(p->nr_functions + 1, sizeof(*a->functions));
	for (uint32_t i = 0; i < p->nr_functions; i++)
		order[i] = i;
	qsort_r(order, p->nr_functions, sizeof(*order), compare_functions, (void *)p);
	for (size_t i = 0; i < p->nr_functions; i++) {
		const struct profile_function *f = &p->functions[order[i]];
		struct lines_function *to;

		if (!*profile_str(p, f->file)) {
			a->merged[order[i]] = PROFILE_NONE;
			continue;
		}
		if (last == PROFILE_NONE || compare_functions(&last, &order[i], (void *)p))
			a->nr_functions++;
		last = order[i];
		a->merged[order[i]] = (uint32_t)(a->nr_functions - 1);
		to = &a->functions[a->nr_functions - 1];
		to->name = profile_str(p, f->name);
		to->file = profile_str(p, f->file);
		to->kind = f->kind;
		if (f->start_line && (!to->start_line || f->start_line < to->start_line))
			to->start_line = f->start_line;
	}
	free(order);
}

/* In a profile of Python, the lines of the program are wanted, not those of the interpreter. */
static void mark_interpreter(struct adder *a)
{
	const struct profile *p = a->p;
	bool is_python = false;

	for (size_t i = 0; i < a->nr_functions; i++)
		is_python |= a->functions[i].kind == FUNCTION_PYTHON;
	for (uint32_t i = 0; is_python && i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		for (uint32_t k = 0; k < f->nr_locations && cpython_has_frame(p, f); k++) {
			uint32_t function = a->merged[p->locations[f->first_location + k].function];

			if (function != PROFILE_NONE &&
			    a->functions[function].kind == FUNCTION_NATIVE)
				a->functions[function].interpreter = true;
		}
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return ORDER(x->function, y->function) ?: ORDER(x->line, y->line);
}

static void make_rows(struct adder *a)
{
	const struct profile *p = a->p;
	struct place *places = xmalloc((p->nr_locations + 1) * sizeof(*places));
	size_t nr = 0;

	a->location_row = xmalloc((p->nr_locations + 1) * sizeof(*a->location_row));
	a->rows = xcalloc(p->nr_locations + 1, sizeof(*a->rows));
	a->row_function = xmalloc((p->nr_locations + 1) * sizeof(*a->row_function));
	for (uint32_t i = 0; i < p->nr_locations; i++) {
		uint32_t function = a->merged[p->locations[i].function];

		a->location_row[i] = PROFILE_NONE;
		if (function != PROFILE_NONE)
			places[nr++] = (struct place){ function, p->locations[i].line, i };
	}
	qsort(places, nr, sizeof(*places), compare_places);
	for (size_t i = 0; i < nr; i++) {
		struct lines_function *f = &a->functions[places[i].function];

		if (!i || compare_places(&places[i - 1], &places[i])) {
			a->row_function[a->nr_rows] = places[i].function;
			a->rows[a->nr_rows].line = places[i].line;
			if (!f->nr_rows++)
				f->rows = &a->rows[a->nr_rows];
			a->nr_rows++;
		}
		a->location_row[places[i].row] = (uint32_t)(a->nr_rows - 1);
	}
	free(places);
}

static enum lines_end end_of(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames[frame];

	if (!f->nr_locations)
		return p->modules[f->module].kind == MODULE_KERNEL ? LINES_END_KERNEL
								   : LINES_END_NATIVE;
	switch (p->functions[p->locations[f->first_location + f->nr_locations - 1].function].kind) {
	case FUNCTION_PYTHON: return LINES_END_PYTHON;
	case FUNCTION_KERNEL: return LINES_END_KERNEL;
	case FUNCTION_GPU: return LINES_END_GPU;
	default: return LINES_END_NATIVE;
	}
}

static void add_total(struct lines_sum *sum, enum lines_end end, uint64_t weight, uint64_t samples)
{
	sum->total += weight;
	sum->total_samples += samples;
	sum->ends[end] += weight;
}

static void add_self(struct lines_sum *sum, uint64_t weight, uint64_t samples)
{
	sum->self += weight;
	sum->self_samples += samples;
}

static void add_row(struct adder *a, uint32_t row, uint32_t stamp, enum lines_end end,
		    uint64_t weight, uint64_t samples)
{
	uint32_t function = a->row_function[row];

	if (a->row_stamp[row] != stamp)
		add_total(&a->rows[row].sum, end, weight, samples);
	a->row_stamp[row] = stamp;
	if (a->function_stamp[function] != stamp)
		add_total(&a->functions[function].sum, end, weight, samples);
	a->function_stamp[function] = stamp;
}

static bool is_python(const struct profile *p, const struct profile_frame *f)
{
	return f->nr_locations &&
	       p->functions[p->locations[f->first_location + f->nr_locations - 1].function].kind ==
		       FUNCTION_PYTHON;
}

/* The row of the frame's innermost function. */
static uint32_t row_of(const struct adder *a, const struct profile_frame *f)
{
	return f->nr_locations ? a->location_row[f->first_location + f->nr_locations - 1]
			       : PROFILE_NONE;
}

/* The row that the self of a stack belongs to, or PROFILE_NONE. */
static uint32_t self_row(const struct adder *a, uint32_t stack)
{
	const struct profile *p = a->p;
	const struct profile_stack *s = &p->stacks[stack];
	const uint32_t *frames = &p->stack_frames[s->first_frame];

	for (uint32_t i = s->nr_frames; a->of_memory && i-- > 0;)
		if (is_python(p, &p->frames[frames[i]]))
			return row_of(a, &p->frames[frames[i]]);
	return s->nr_frames ? row_of(a, &p->frames[frames[s->nr_frames - 1]]) : PROFILE_NONE;
}

/* Returns the weight for which no line is known. */
static uint64_t add_stack(struct adder *a, uint32_t stack, uint64_t weight, uint64_t samples)
{
	const struct profile *p = a->p;
	const struct profile_stack *s = &p->stacks[stack];
	const uint32_t *frames = &p->stack_frames[s->first_frame];
	uint32_t row = self_row(a, stack), stamp = ++a->stamp;
	enum lines_end end;

	if (!s->nr_frames)
		return weight;
	end = end_of(p, frames[s->nr_frames - 1]);
	a->ends[end] += weight;
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[frames[i]];

		for (uint32_t k = 0; k < f->nr_locations; k++) {
			uint32_t other = a->location_row[f->first_location + k];

			if (other != PROFILE_NONE)
				add_row(a, other, stamp, end, weight, samples);
		}
	}
	if (row == PROFILE_NONE)
		return weight;
	add_self(&a->rows[row].sum, weight, samples);
	add_self(&a->functions[a->row_function[row]].sum, weight, samples);
	return 0;
}

static void add_samples(struct adder *a, struct lines *l, enum profile_column column)
{
	const struct profile *p = a->p;
	struct stack_sums sums;

	a->row_stamp = xcalloc(a->nr_rows + 1, sizeof(*a->row_stamp));
	a->function_stamp = xcalloc(a->nr_functions + 1, sizeof(*a->function_stamp));
	stack_sums_init(&sums, p, column);
	for (uint32_t i = 0; i < p->nr_stacks; i++) {
		if (!sums.weights[i] && !sums.samples[i])
			continue;
		l->total += sums.weights[i];
		l->total_samples += sums.samples[i];
		l->without += add_stack(a, i, sums.weights[i], sums.samples[i]);
	}
	stack_sums_fini(&sums);
}

/* ---- memory: both of its columns, and their errors */

static uint64_t *part_of(struct lines_sum *sum, size_t offset)
{
	return (uint64_t *)((char *)sum + offset);
}

/* Adds the weight to that part of all rows and functions of a stack. */
static void add_part(struct adder *a, uint32_t stack, size_t offset, uint64_t weight)
{
	const struct profile *p = a->p;
	const struct profile_stack *s = &p->stacks[stack];
	uint32_t stamp = ++a->stamp;

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first_frame + i]];

		for (uint32_t k = 0; k < f->nr_locations; k++) {
			uint32_t row = a->location_row[f->first_location + k], function;

			if (row == PROFILE_NONE || a->row_stamp[row] == stamp)
				continue;
			a->row_stamp[row] = stamp;
			*part_of(&a->rows[row].sum, offset) += weight;
			function = a->row_function[row];
			if (a->function_stamp[function] == stamp)
				continue;
			a->function_stamp[function] = stamp;
			*part_of(&a->functions[function].sum, offset) += weight;
		}
	}
}

static void add_self_part(struct adder *a, uint32_t stack, size_t offset, uint64_t weight)
{
	uint32_t row = self_row(a, stack);

	if (row == PROFILE_NONE)
		return;
	*part_of(&a->rows[row].sum, offset) += weight;
	*part_of(&a->functions[a->row_function[row]].sum, offset) += weight;
}

/* Adds up samples: those of the profile, or copies of them that weigh their variances. */
static void add_parts(struct adder *a, const struct profile *samples, enum profile_column column,
		      size_t offset, bool of_self)
{
	struct stack_sums sums;

	stack_sums_init(&sums, samples, column);
	for (uint32_t i = 0; i < samples->nr_stacks; i++) {
		if (sums.weights[i] && of_self)
			add_self_part(a, i, offset, sums.weights[i]);
		else if (sums.weights[i])
			add_part(a, i, offset, sums.weights[i]);
	}
	stack_sums_fini(&sums);
}

static void add_margins(struct adder *a, enum profile_column column, size_t offset, bool of_self)
{
	struct variances v;

	if (!memory_is_sampled(a->p, column))
		return;
	variances_init(&v, a->p, column);
	add_parts(a, &v.profile, column, offset, of_self);
	for (size_t i = 0; i < a->nr_rows; i++)
		*part_of(&a->rows[i].sum, offset) =
			variances_margin(&v, *part_of(&a->rows[i].sum, offset));
	for (size_t i = 0; i < a->nr_functions; i++)
		*part_of(&a->functions[i].sum, offset) =
			variances_margin(&v, *part_of(&a->functions[i].sum, offset));
	variances_fini(&v);
}

static void add_memory(struct adder *a, enum profile_column column)
{
	static const struct {
		enum memory_part bytes, blocks;
		size_t offset;
	} parts[] = {
		{ MEMORY_ALLOCATED, MEMORY_ALLOCATIONS, offsetof(struct lines_sum, allocated) },
		{ MEMORY_LIVE, MEMORY_LIVE_OBJECTS, offsetof(struct lines_sum, live) },
	};
	enum memory_kind kind = memory_kind_of(column);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		enum profile_column bytes = memory_column(kind, parts[i].bytes);
		size_t at = parts[i].offset;

		add_parts(a, a->p, bytes, at + offsetof(struct lines_memory, bytes), false);
		add_parts(a, a->p, memory_column(kind, parts[i].blocks),
			  at + offsetof(struct lines_memory, blocks), false);
		add_margins(a, bytes, at + offsetof(struct lines_memory, margin), false);
	}
	add_margins(a, column, offsetof(struct lines_sum, self_margin), true);
}

static int compare_texts(const struct lines_function *f, const struct lines_function *g)
{
	return strcmp(f->file, g->file) ?: strcmp(f->name, g->name) ?: (int)f->kind - (int)g->kind;
}

static int compare_found(const void *a, const void *b, void *key)
{
	const struct lines_function *f = a, *g = b;

	return f->interpreter - g->interpreter
	       ?: ranking_order(*(enum ranking_key *)key, f->sum.self, f->sum.total, g->sum.self,
				g->sum.total)
	       ?: compare_texts(f, g);
}

/* Leaves out rows in which no sample of this column lies. */
static void keep_used(struct adder *a, struct lines *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->nr_functions; i++) {
		struct lines_function f = a->functions[i];
		struct lines_row *rows = (struct lines_row *)f.rows;
		uint32_t nr = 0;

		if (!f.sum.total && !f.sum.total_samples)
			continue;
		for (uint32_t k = 0; k < f.nr_rows; k++)
			if (rows[k].sum.total || rows[k].sum.total_samples)
				rows[nr++] = rows[k];
		f.nr_rows = nr;
		a->functions[kept++] = f;
	}
	l->functions = a->functions;
	l->nr_functions = kept;
	l->rows = a->rows;
}

void lines_init(struct lines *l, const struct profile *p, enum profile_column column,
		enum ranking_key key)
{
	struct adder a = { .p = p, .of_memory = column_is_memory(column) };

	*l = (struct lines){ .has_memory = a.of_memory };
	merge_functions(&a);
	mark_interpreter(&a);
	make_rows(&a);
	add_samples(&a, l, column);
	if (a.of_memory)
		add_memory(&a, column);
	memcpy(l->ends, a.ends, sizeof(l->ends));
	keep_used(&a, l);
	qsort_r(l->functions, l->nr_functions, sizeof(*l->functions), compare_found, &key);
	free(a.merged);
	free(a.location_row);
	free(a.row_function);
	free(a.row_stamp);
	free(a.function_stamp);
}

void lines_fini(struct lines *l)
{
	free(l->functions);
	free(l->rows);
	*l = (struct lines){ 0 };
}

bool lines_matches(const struct lines_function *f, const char *source, const char *function)
{
	size_t file_size = strlen(f->file), size = strlen(source), start, short_size;

	if (size > file_size || strcmp(f->file + file_size - size, source) ||
	    (size && size < file_size && source[0] != '/' && f->file[file_size - size - 1] != '/'))
		return false;
	if (!function || !strcmp(f->name, function))
		return true;
	if (f->kind == FUNCTION_PYTHON)
		return python_name_is(f->name, function);
	label_short(f->name, strlen(f->name), f->kind, &start, &short_size);
	return short_size == strlen(function) && !memcmp(f->name + start, function, short_size);
}
