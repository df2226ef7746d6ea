/*
 * Writes what cProfile writes, for pstats, snakeviz, gprof2dot and tuna: a marshalled dict from
 * (file, line, function) to (primitive calls, calls, own time, cumulative time, callers). Sampling
 * does not count calls: both are 0, for which pstats leaves the time per call out. A caller is
 * given the part of the time that was spent in its calls.
 *
 * Source: CPython's Python/marshal.c (the types used here have been the same since 3.4), Lib/pstats.py.
 */
#include "output/export_pstats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/alloc.h"
#include "core/buffer.h"
#include "core/column.h"
#include "core/intern.h"
#include "output/text.h"
#include "output/tree.h"

/* A function called by another. */
struct edge {
	uint32_t callee, caller;
	uint64_t self, total;
	uint32_t active_end; /* nodes before it lie inside a call by this edge already */
};

/* Of all functions that are one key. */
struct sum {
	uint64_t self, total;
	uint32_t active_end; /* as in an edge */
	bool used;
};

struct writer {
	struct buffer *b;
	const struct tree *tree;
	/* By function of the tree: the first one of the same key. In a dict, keys are there once. */
	uint32_t *first;
	struct sum *sums; /* by first function */
	struct edge *edges;
	size_t nr_edges, capacity;
	struct intern index;
};

/* ---- marshal: little-endian, each value after its type */

static void add_u32(struct buffer *b, char type, uint32_t value)
{
	uint8_t bytes[5] = { (uint8_t)type, (uint8_t)value, (uint8_t)(value >> 8),
			     (uint8_t)(value >> 16), (uint8_t)(value >> 24) };

	buffer_add(b, bytes, sizeof(bytes));
}

static void add_tuple(struct buffer *b, uint32_t size)
{
	add_u32(b, '(', size);
}

static void add_seconds(struct buffer *b, uint64_t ns)
{
	double seconds = (double)ns / 1e9;

	buffer_add_char(b, 'g');
	buffer_add(b, &seconds, sizeof(seconds));
}

static void add_text(struct buffer *b, const char *s, size_t n)
{
	struct buffer clean = { 0 };

	text_add_clean(&clean, s, n);
	add_u32(b, 'u', (uint32_t)clean.size);
	buffer_add(b, clean.data, clean.size);
	buffer_fini(&clean);
}

/* ---- keys */

/*
 * Code without a source file stands under its module, as pstats has "~" for what is built in. Python's
 * own names lose the file and line that sprof puts behind them.
 */
static const char *key_file(const struct tree_function *f)
{
	return *f->file ? f->file : *f->module ? f->module : "~";
}

static size_t key_name_size(const struct tree_function *f)
{
	const char *end = f->kind == FUNCTION_PYTHON ? strstr(f->name, " (") : NULL;

	return end ? (size_t)(end - f->name) : strlen(f->name);
}

static void add_key(struct writer *w, uint32_t function)
{
	const struct tree_function *f = &w->tree->functions.list[function];

	add_tuple(w->b, 3);
	add_text(w->b, key_file(f), strlen(key_file(f)));
	add_u32(w->b, 'i', f->line > INT32_MAX ? 0 : f->line);
	add_text(w->b, f->name, key_name_size(f));
}

static int compare_keys(const struct tree_function *f, const struct tree_function *g)
{
	size_t n = key_name_size(f), m = key_name_size(g);
	int order = strcmp(key_file(f), key_file(g));

	if (!order)
		order = f->line < g->line ? -1 : f->line > g->line;
	if (!order)
		order = memcmp(f->name, g->name, n < m ? n : m);
	return order ? order : n < m ? -1 : n > m;
}

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct tree_function *list = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int order = compare_keys(&list[i], &list[k]);

	return order ? order : i < k ? -1 : i > k;
}

static void find_firsts(struct writer *w)
{
	struct tree_function *list = w->tree->functions.list;
	size_t nr = w->tree->functions.nr;
	uint32_t *order = xmalloc(nr * sizeof(*order));

	w->first = xmalloc(nr * sizeof(*w->first));
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order + 1, nr - 1, sizeof(*order), compare_functions, list);
	w->first[0] = 0;
	for (size_t i = 1; i < nr; i++)
		w->first[order[i]] = i > 1 && !compare_keys(&list[order[i - 1]], &list[order[i]])
					     ? w->first[order[i - 1]]
					     : order[i];
	/* The root and the threads below it are no functions. */
	for (size_t i = 1; i < nr; i++)
		if (list[i].kind == FUNCTION_THREAD)
			w->first[i] = 0;
	free(order);
}

static void add_times(struct writer *w, uint64_t self, uint64_t total)
{
	add_u32(w->b, 'i', 0);
	add_u32(w->b, 'i', 0);
	add_seconds(w->b, self);
	add_seconds(w->b, total);
}

/* ---- edges */

static bool edge_equal(const void *owner, uint32_t id, const void *key)
{
	const struct edge *e = &((const struct writer *)owner)->edges[id];
	const uint32_t *k = key;

	return e->callee == k[0] && e->caller == k[1];
}

static struct edge *edge_of(struct writer *w, uint32_t callee, uint32_t caller)
{
	uint32_t key[2] = { callee, caller };
	uint32_t id = intern_id(&w->index, (uint32_t)XXH3_64bits(key, sizeof(key)),
				(uint32_t)w->nr_edges, edge_equal, w, key);

	if (id == w->nr_edges) {
		w->edges = xgrow(w->edges, &w->capacity, w->nr_edges + 1, sizeof(*w->edges));
		w->edges[w->nr_edges++] = (struct edge){ .callee = callee, .caller = caller };
	}
	return &w->edges[id];
}

/* Nodes come in depth-first order: a call inside a call of the same kind is in its total. */
static void add_node(struct writer *w, uint32_t node)
{
	const struct tree_node *n = &w->tree->nodes[node];
	uint32_t function = w->first[n->function];
	struct sum *sum = &w->sums[function];
	struct edge *e;

	if (!function)
		return;
	e = edge_of(w, function, w->first[w->tree->nodes[n->parent].function]);

	sum->used = true;
	sum->self += n->self;
	e->self += n->self;
	if (node >= sum->active_end) {
		sum->total += n->total;
		sum->active_end = n->end;
	}
	if (node >= e->active_end) {
		e->total += n->total;
		e->active_end = n->end;
	}
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static void write_functions(struct writer *w)
{
	size_t at = 0;

	buffer_add_char(w->b, '{');
	for (uint32_t i = 1; i < w->tree->functions.nr; i++) {
		if (!w->sums[i].used)
			continue;
		add_key(w, i);
		add_tuple(w->b, 5);
		add_times(w, w->sums[i].self, w->sums[i].total);
		buffer_add_char(w->b, '{');
		while (at < w->nr_edges && w->edges[at].callee < i)
			at++;
		for (; at < w->nr_edges && w->edges[at].callee == i; at++) {
			if (!w->edges[at].caller) /* called by nobody */
				continue;
			add_key(w, w->edges[at].caller);
			add_tuple(w->b, 4);
			add_times(w, w->edges[at].self, w->edges[at].total);
		}
		buffer_add_char(w->b, '0');
	}
	buffer_add_char(w->b, '0');
}

static int write_pstats(struct buffer *b, const struct profile *p)
{
	struct writer w = { .b = b };
	struct tree_opts opts = { 0 };
	struct tree *tree;
	int err = tree_new(p, &opts, &tree);

	if (err)
		return err;
	if (column_table[tree->column].unit != UNIT_NS) {
		tree_free(tree);
		return -EDOM;
	}
	w.tree = tree;
	find_firsts(&w);
	w.sums = xcalloc(tree->functions.nr, sizeof(*w.sums));
	for (uint32_t i = 1; i < tree->nr_nodes; i++)
		add_node(&w, i);
	qsort(w.edges, w.nr_edges, sizeof(*w.edges), compare_edges);
	write_functions(&w);
	intern_fini(&w.index);
	free(w.edges);
	free(w.first);
	free(w.sums);
	tree_free(tree);
	return 0;
}

const struct exporter export_pstats = {
	.name = "pstats",
	.suffix = ".pstats",
	.help = "pstats, snakeviz, gprof2dot: own and cumulative time, without counts of calls",
	.write = write_pstats,
};
