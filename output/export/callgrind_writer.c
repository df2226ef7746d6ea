/*
 * Writes callgrind's format (https://valgrind.org/docs/manual/cl-format.html): the cost of each
 * function by source line, and of each call; it has no stacks. Readers compute the total of a
 * function either from its self and its calls or from the calls to it. To make both right for
 * recursive functions too, a stack is reduced to a chain in which each function occurs once, at its
 * innermost place, below a root: the thread's name or "all".
 */
#include "output/export/exporter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "core/profile/intern.h"
#include "output/tree/naming.h"
#include "output/export/stack_groups.h"
#include "output/text/text.h"

#define NO_CALLEE UINT32_MAX

struct cost {
	uint32_t function, line, callee; /* functions: indices in names.list; NO_CALLEE: self */
	uint64_t values[NR_COLUMNS];
};

struct step {
	uint32_t function, line;
};

/* Names that were written already; objects and files are numbered separately. */
struct names {
	struct profile *strings; /* used only to intern the names */
	size_t nr_written;
};

struct writer {
	const struct profile *p;
	struct buffer *b;
	struct tree_functions names;
	bool columns[NR_COLUMNS];
	struct cost *costs;
	size_t nr_costs, costs_capacity;
	struct intern index; /* of costs */
	struct step *steps;  /* of the current stack, root first */
	size_t nr_steps, steps_capacity;
	uint32_t *seen; /* by function: the stamp of the stack that last held it */
	struct names objects, files;
	bool *function_written;
};

static bool cost_equal(const void *owner, uint32_t id, const void *key)
{
	const struct cost *cost = &((const struct writer *)owner)->costs[id];
	const uint32_t *k = key;

	return cost->function == k[0] && cost->line == k[1] && cost->callee == k[2];
}

static void add_cost(struct writer *w, const struct step *step, uint32_t callee,
		     const uint64_t *values)
{
	uint32_t key[3] = { step->function, step->line, callee };
	uint32_t id = intern_id(&w->index, (uint32_t)XXH3_64bits(key, sizeof(key)),
				(uint32_t)w->nr_costs, cost_equal, w, key);

	if (id == w->nr_costs) {
		w->costs = xgrow(w->costs, &w->costs_capacity, w->nr_costs + 1, sizeof(*w->costs));
		w->costs[w->nr_costs++] = (struct cost){ key[0], key[1], key[2], { 0 } };
	}
	for (int c = 0; c < NR_COLUMNS; c++)
		w->costs[id].values[c] += values[c];
}

static void list_steps(struct writer *w, const struct profile_stack *s)
{
	struct naming_walk at = { .p = w->p, .names = &w->names, .stack = s };

	w->nr_steps = 0;
	while (naming_next(&at)) {
		w->steps = xgrow(w->steps, &w->steps_capacity, w->nr_steps + 1, sizeof(*w->steps));
		w->steps[w->nr_steps++] =
			(struct step){ .function = FRAME_FUNCTION(at.code), .line = at.line };
	}
}

/* Keeps the innermost step of each function; `stamp` is another number for each stack, not 0. */
static void keep_innermost(struct writer *w, uint32_t stamp)
{
	size_t kept = w->nr_steps;

	for (size_t i = w->nr_steps; i--;) {
		uint32_t *seen = &w->seen[w->steps[i].function];

		if (*seen != stamp)
			w->steps[--kept] = w->steps[i];
		*seen = stamp;
	}
	w->nr_steps -= kept;
	if (kept)
		memmove(w->steps, w->steps + kept, w->nr_steps * sizeof(*w->steps));
}

/* Adds the samples of one stack and thread, order[first] to order[end - 1]. */
static void add_samples(struct writer *w, const uint32_t *order, size_t first, size_t end)
{
	const struct profile_sample *s = &w->p->samples[order[first]];
	struct step root = { 0 };
	uint64_t values[NR_COLUMNS] = { 0 };

	for (size_t i = first; i < end; i++)
		values[w->p->samples[order[i]].column] += w->p->samples[order[i]].weight;
	if (s->thread != PROFILE_NONE)
		root.function = w->names.comms[w->p->threads[s->thread].comm];
	list_steps(w, &w->p->stacks[s->stack]);
	keep_innermost(w, (uint32_t)first + 1);
	add_cost(w, &root, w->nr_steps ? w->steps[0].function : NO_CALLEE, values);
	for (size_t i = 0; i < w->nr_steps; i++)
		add_cost(w, &w->steps[i],
			 i + 1 < w->nr_steps ? w->steps[i + 1].function : NO_CALLEE, values);
}

static void add_up(struct writer *w)
{
	const struct profile *p = w->p;
	uint32_t *order = stack_groups_order(p);

	for (size_t first = 0, end; first < p->nr_samples; first = end) {
		end = stack_groups_end(p, order, first);
		add_samples(w, order, first, end);
	}
	free(order);
}

/* Orders costs by function, the self costs of each before its calls. */
static int compare_costs(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return ORDER(x->function, y->function)
	       ?: ORDER(x->callee != NO_CALLEE, y->callee != NO_CALLEE) ?: ORDER(x->line, y->line)
	       ?: ORDER(x->callee, y->callee);
}

/* Writes "fl=(3) file" the first time and "fl=(3)" from then on. */
static void add_text(struct writer *w, struct names *names, const char *key, const char *text)
{
	struct buffer clean = { 0 };
	uint32_t id;

	text_add_clean(&clean, *text ? text : "???", *text ? strlen(text) : 3);
	id = profile_string(names->strings, clean.data, clean.size);
	buffer_printf(w->b, "%s=(%u)", key, id);
	if (names->strings->nr_strings > names->nr_written) {
		names->nr_written = names->strings->nr_strings;
		buffer_add_char(w->b, ' ');
		buffer_add(w->b, clean.data, clean.size);
	}
	buffer_add_char(w->b, '\n');
	buffer_fini(&clean);
}

/* Writes object, file and name of a function; c is "c" if it is the callee, else "". */
static void add_function(struct writer *w, const char *c, uint32_t function)
{
	const struct tree_function *f = &w->names.list[function];

	add_text(w, &w->objects, *c ? "cob" : "ob", f->module);
	add_text(w, &w->files, *c ? "cfl" : "fl", f->file);
	buffer_printf(w->b, "%sfn=(%u)", c, function + 1);
	if (!w->function_written[function]) {
		buffer_add_char(w->b, ' ');
		buffer_add_string(w->b, f->name);
		w->function_written[function] = true;
	}
	buffer_add_char(w->b, '\n');
}

static void add_values(struct writer *w, const uint64_t *values)
{
	for (int c = 0; c < NR_COLUMNS; c++) {
		if (!w->columns[c])
			continue;
		buffer_add_char(w->b, ' ');
		buffer_add_u64(w->b, values[c]);
	}
	buffer_add_char(w->b, '\n');
}

static void add_costs(struct writer *w)
{
	if (w->nr_costs)
		qsort(w->costs, w->nr_costs, sizeof(*w->costs), compare_costs);
	for (size_t i = 0; i < w->nr_costs; i++) {
		const struct cost *cost = &w->costs[i];

		if (!i || cost->function != cost[-1].function) {
			buffer_add_char(w->b, '\n');
			add_function(w, "", cost->function);
		}
		if (cost->callee != NO_CALLEE) {
			add_function(w, "c", cost->callee);
			/* The number of calls is unknown, but at least 1. */
			buffer_printf(w->b, "calls=1 %u\n", w->names.list[cost->callee].line);
		}
		buffer_add_u64(w->b, cost->line);
		add_values(w, cost->values);
	}
}

static void add_head(struct writer *w)
{
	uint64_t totals[NR_COLUMNS] = { 0 };

	for (size_t i = 0; i < w->p->nr_samples; i++)
		totals[w->p->samples[i].column] += w->p->samples[i].weight;
	buffer_add_string(w->b, "# callgrind format\nversion: 1\ncreator: sprof " SPROF_VERSION
				"\ncmd: ");
	text_add_clean(w->b, profile_str(w->p, w->p->meta.command),
		       strlen(profile_str(w->p, w->p->meta.command)));
	buffer_add_string(w->b, "\npositions: line\nevents:");
	for (int c = 0; c < NR_COLUMNS; c++) {
		if (!w->columns[c])
			continue;
		buffer_add_char(w->b, ' ');
		for (const char *s = column_info_of(w->p, (unsigned int)c)->name; *s; s++)
			buffer_add_char(w->b, ispunct((unsigned char)*s) ? '_' : *s);
	}
	buffer_add_string(w->b, "\nsummary:");
	add_values(w, totals);
}

static int write_callgrind(struct buffer *b, const struct profile *p)
{
	struct writer w = {
		.p = p,
		.b = b,
		.objects = { profile_new(), 1 },
		.files = { profile_new(), 1 },
	};

	naming_init(&w.names, p);
	columns_present(p, w.columns);
	w.columns[COLUMN_CPU] |= !p->nr_samples; /* the format demands an event */
	w.seen = xcalloc(w.names.nr, sizeof(*w.seen));
	w.function_written = xcalloc(w.names.nr, sizeof(*w.function_written));
	add_up(&w);
	add_head(&w);
	add_costs(&w);
	profile_free(w.objects.strings);
	profile_free(w.files.strings);
	intern_fini(&w.index);
	free(w.costs);
	free(w.steps);
	free(w.seen);
	free(w.function_written);
	tree_functions_fini(&w.names);
	return 0;
}

const struct exporter export_callgrind = {
	.name = "callgrind",
	.suffix = ".callgrind",
	.help = "KCachegrind, callgrind_annotate; calls, no stacks",
	.write = write_callgrind,
};
