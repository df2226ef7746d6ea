/*
 * Makes the functions of a pstats profile: functions of the tree that have the same key in a pstats
 * dict are one. The nodes are visited once, depth first; a call inside a call of the same function
 * is already in its total.
 */
#include "output/python/pstats.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/intern.h"
#include "output/python/counted_calls.h"
#include "output/tree/tree.h"

struct gatherer {
	struct pstats *stats;
	const struct tree *tree;
	uint32_t *first; /* by function of the tree: the first one with the same key, 0 = none */
	struct pstats_function *by_first;
	/* by function, by edge: nodes before this one lie inside a call that is counted already */
	uint32_t *function_ends, *edge_ends;
	size_t edges_capacity, edge_ends_capacity;
	struct intern index;
};

/*
 * Code without a source file is listed under its module; pstats lists built-ins under "~". Python
 * names lose the file and the line that sprof appends to them.
 */
const char *pstats_file(const struct tree_function *f)
{
	return *f->file ? f->file : *f->module ? f->module : "~";
}

uint32_t pstats_line(const struct tree_function *f)
{
	return f->line > INT32_MAX ? 0 : f->line;
}

size_t pstats_name_size(const struct tree_function *f)
{
	const char *end = f->kind == FUNCTION_PYTHON ? strstr(f->name, " (") : NULL;

	return end ? (size_t)(end - f->name) : strlen(f->name);
}

static int compare_keys(const struct tree_function *f, const struct tree_function *g)
{
	size_t n = pstats_name_size(f), m = pstats_name_size(g);

	return strcmp(pstats_file(f), pstats_file(g)) ?: ORDER(f->line, g->line)
	       ?: memcmp(f->name, g->name, n < m ? n : m) ?: ORDER(n, m);
}

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct tree_function *list = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return compare_keys(&list[i], &list[k]) ?: ORDER(i, k);
}

static void find_firsts(struct gatherer *g)
{
	struct tree_function *list = g->tree->functions.list;
	size_t nr = g->tree->functions.nr;
	uint32_t *order = xmalloc(nr * sizeof(*order));

	g->first = xmalloc(nr * sizeof(*g->first));
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order + 1, nr - 1, sizeof(*order), compare_functions, list);
	g->first[0] = 0;
	for (size_t i = 1; i < nr; i++)
		g->first[order[i]] = i > 1 && !compare_keys(&list[order[i - 1]], &list[order[i]])
					     ? g->first[order[i - 1]]
					     : order[i];
	/* The root and the threads below it are not functions. */
	for (size_t i = 1; i < nr; i++)
		if (list[i].kind == FUNCTION_THREAD)
			g->first[i] = 0;
	free(order);
}

static bool edge_equal(const void *owner, uint32_t id, const void *key)
{
	const struct pstats_edge *e = &((const struct pstats *)owner)->edges[id];
	const uint32_t *k = key;

	return e->callee == k[0] && e->caller == k[1];
}

/* Returns the index of an edge, and makes the edge if it does not exist. */
static uint32_t edge_of(struct gatherer *g, uint32_t callee, uint32_t caller)
{
	struct pstats *s = g->stats;
	uint32_t key[2] = { callee, caller };
	uint32_t id = intern_id(&g->index, (uint32_t)XXH3_64bits(key, sizeof(key)),
				(uint32_t)s->nr_edges, edge_equal, s, key);

	if (id < s->nr_edges)
		return id;
	s->edges = xgrow(s->edges, &g->edges_capacity, id + 1, sizeof(*s->edges));
	g->edge_ends = xgrow(g->edge_ends, &g->edge_ends_capacity, id + 1, sizeof(*g->edge_ends));
	g->edge_ends[id] = 0;
	s->edges[s->nr_edges++] = (struct pstats_edge){ .callee = callee, .caller = caller };
	return id;
}

static void add_node(struct gatherer *g, uint32_t node)
{
	const struct tree_node *n = &g->tree->nodes[node];
	uint32_t function = g->first[n->function], edge;
	struct pstats_function *f = &g->by_first[function];
	struct pstats_edge *e;

	if (!function)
		return;
	edge = edge_of(g, function, g->first[g->tree->nodes[n->parent].function]);
	e = &g->stats->edges[edge];
	f->is_used = true;
	f->self += tree_self(g->tree, n);
	e->self += tree_self(g->tree, n);
	if (node >= g->function_ends[function]) {
		f->total += tree_total(g->tree, n);
		f->events += tree_events_of(g->tree, n).total;
		g->function_ends[function] = n->end;
	}
	if (node >= g->edge_ends[edge]) {
		e->total += tree_total(g->tree, n);
		g->edge_ends[edge] = n->end;
	}
}

static int compare_edges(const void *a, const void *b)
{
	const struct pstats_edge *x = a, *y = b;

	return ORDER(x->callee, y->callee) ?: ORDER(x->caller, y->caller);
}

struct named_calls {
	const char *name;
	uint64_t calls;
};

static int compare_named(const void *a, const void *b)
{
	return strcmp(((const struct named_calls *)a)->name, ((const struct named_calls *)b)->name);
}

/* Sorts by name and adds up the calls of equal names. */
static size_t add_up_names(struct named_calls *list, size_t nr)
{
	size_t kept = 0;

	qsort(list, nr, sizeof(*list), compare_named);
	for (size_t i = 0; i < nr; i++) {
		if (kept && !compare_named(&list[kept - 1], &list[i]))
			list[kept - 1].calls += list[i].calls;
		else
			list[kept++] = list[i];
	}
	return kept;
}

static void take_calls(struct pstats_function *f, const struct named_calls *list, size_t nr)
{
	const struct named_calls key = { .name = f->function->name };
	const struct named_calls *found = bsearch(&key, list, nr, sizeof(*list), compare_named);

	if (!found)
		return;
	f->calls = found->calls;
	f->calls_known = true;
}

/*
 * Counts that exist: calls of chosen functions, of the CUDA API and of NVTX ranges, for the whole
 * recording; and work on a GPU, in the GPU's columns.
 */
static void find_calls(struct gatherer *g, const struct profile *p, bool is_whole)
{
	size_t nr_api, nr_ranges;
	const struct fact_gpu_api *api = facts_rows(p, FACT_GPU_API, &nr_api);
	const struct fact_range *ranges = facts_rows(p, FACT_RANGE, &nr_ranges);
	struct named_calls *apis = xcalloc(nr_api + 1, sizeof(*apis));
	struct named_calls *named = xcalloc(nr_ranges + 1, sizeof(*named));
	struct counted_calls counts;

	counted_calls_init(&counts, p);
	for (size_t i = 0; i < nr_api; i++)
		apis[i] =
			(struct named_calls){ profile_str(p, (uint32_t)api[i].name), api[i].calls };
	for (size_t i = 0; i < nr_ranges; i++)
		named[i] = (struct named_calls){ profile_str(p, (uint32_t)ranges[i].name),
						 ranges[i].calls };
	nr_api = add_up_names(apis, nr_api);
	nr_ranges = add_up_names(named, nr_ranges);
	for (size_t i = 1; i < g->tree->functions.nr; i++) {
		struct pstats_function *f = &g->by_first[i];

		f->function = &g->tree->functions.list[i];
		if (f->function->kind == FUNCTION_GPU && g->tree->info->exact) {
			f->calls = f->events;
			f->calls_known = true;
		} else if (f->function->kind == FUNCTION_RANGE && is_whole) {
			take_calls(f, named, nr_ranges);
		} else if (is_whole && counted_calls_find(&counts, f->function, &f->calls)) {
			f->calls_known = true;
		} else if (f->function->kind == FUNCTION_NATIVE && is_whole) {
			take_calls(f, apis, nr_api);
		}
	}
	counted_calls_fini(&counts);
	free(apis);
	free(named);
}

/* Removes functions without samples, and renumbers the edges. */
static void keep_used(struct gatherer *g)
{
	struct pstats *s = g->stats;
	size_t nr = g->tree->functions.nr;
	uint32_t *place = xcalloc(nr, sizeof(*place));

	for (size_t i = 1; i < nr; i++) {
		if (!g->by_first[i].is_used)
			continue;
		place[i] = (uint32_t)s->nr_functions + 1;
		g->by_first[s->nr_functions++] = g->by_first[i];
	}
	s->functions = g->by_first;
	for (size_t i = 0; i < s->nr_edges; i++) {
		s->edges[i].callee = place[s->edges[i].callee] - 1;
		s->edges[i].caller =
			s->edges[i].caller ? place[s->edges[i].caller] - 1 : PSTATS_NO_CALLER;
	}
	if (s->nr_edges)
		qsort(s->edges, s->nr_edges, sizeof(*s->edges), compare_edges);
	for (size_t i = 0, at = 0; i < s->nr_functions; i++) {
		s->functions[i].first_edge = (uint32_t)at;
		while (at < s->nr_edges && s->edges[at].callee == i)
			at++;
		s->functions[i].nr_edges = (uint32_t)at - s->functions[i].first_edge;
	}
	free(place);
}

void pstats_init(struct pstats *s, const struct profile *p, const struct tree *tree)
{
	struct gatherer g = { .stats = s, .tree = tree };
	bool is_whole = true;

	*s = (struct pstats){ 0 };
	for (int c = 0; c < NR_COLUMNS; c++)
		is_whole &= !p->filtered.nr_samples[c];
	find_firsts(&g);
	g.by_first = xcalloc(tree->functions.nr, sizeof(*g.by_first));
	g.function_ends = xcalloc(tree->functions.nr, sizeof(*g.function_ends));
	for (uint32_t i = 1; i < tree->nr_nodes; i++)
		add_node(&g, i);
	find_calls(&g, p, is_whole);
	keep_used(&g);
	intern_fini(&g.index);
	free(g.edge_ends);
	free(g.function_ends);
	free(g.first);
}

void pstats_fini(struct pstats *s)
{
	free(s->functions);
	free(s->edges);
	*s = (struct pstats){ 0 };
}
