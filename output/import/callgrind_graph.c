/*
 * Makes stacks by a walk from each root, a function that costs more than the calls to it. What
 * arrives at a function is divided among its self and its calls in proportion to their costs; a
 * call to a function that is on the path already takes no part, so the walk ends in recursion. A
 * share too small to be seen stays with the function where it arrived.
 */
#include "output/import/callgrind_graph.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/profile.h"
#include "output/tree/tree.h"

enum { MAX_DEPTH = 512, MAX_VISITS = 1 << 20 };

#define SMALLEST_SHARE 1e-6 /* of the whole */

static uint32_t node_of(struct callgrind_graph *g, uint32_t frame)
{
	bool is_new;
	uint32_t *node = number_map_at(&g->node_of, (uint64_t)frame + 1, &is_new);

	if (is_new) {
		*node = (uint32_t)g->nr_nodes;
		g->nodes = xgrow(g->nodes, &g->nodes_capacity, g->nr_nodes + 1, sizeof(*g->nodes));
		g->nodes[g->nr_nodes++] = (struct callgrind_node){ .frame = frame };
	}
	return *node;
}

void callgrind_graph_add_self(struct callgrind_graph *g, uint32_t frame, uint64_t cost)
{
	uint32_t node = node_of(g, frame); /* may move the nodes */

	g->nodes[node].self += (double)cost;
}

void callgrind_graph_add_call(struct callgrind_graph *g, uint32_t from, uint32_t to, uint64_t cost)
{
	uint32_t a = node_of(g, from), b = node_of(g, to);

	if (a == b || !cost)
		return; /* the cost of direct recursion is in the self costs */
	g->calls = xgrow(g->calls, &g->calls_capacity, g->nr_calls + 1, sizeof(*g->calls));
	g->calls[g->nr_calls++] = (struct callgrind_call){ a, b, (double)cost };
	g->nodes[a].outgoing += (double)cost;
	g->nodes[b].incoming += (double)cost;
}

static int compare_calls(const void *a, const void *b)
{
	const struct callgrind_call *x = a, *y = b;

	return ORDER(x->from, y->from) ?: ORDER(x->to, y->to);
}

/* Sorts the calls by caller, and makes one of all calls between two functions. */
static void merge_calls(struct callgrind_graph *g)
{
	size_t nr = 0;

	if (g->nr_calls)
		qsort(g->calls, g->nr_calls, sizeof(*g->calls), compare_calls);
	for (size_t i = 0; i < g->nr_calls; i++) {
		struct callgrind_call call = g->calls[i];

		if (nr && g->calls[nr - 1].from == call.from && g->calls[nr - 1].to == call.to) {
			g->calls[nr - 1].cost += call.cost;
			continue;
		}
		if (!nr || g->calls[nr - 1].from != call.from)
			g->nodes[call.from].first_call = nr;
		g->nodes[call.from].nr_calls++;
		g->calls[nr++] = call;
	}
	g->nr_calls = nr;
}

struct walk {
	struct callgrind_graph *g;
	struct profile *p;
	bool *on_path; /* by node */
	uint32_t frames[MAX_DEPTH];
	double smallest, sum; /* the smallest share; of all stacks so far */
	size_t nr_visits;
};

/* Rounds the running sum rather than each stack, so that the total is right. */
static void add_stack(struct walk *w, size_t depth, double cost)
{
	struct profile_sample s = { .thread = PROFILE_NONE, .column = COLUMN_COST };
	double before = w->sum;

	w->sum += cost;
	s.weight = (uint64_t)(llround(w->sum) - llround(before));
	if (!s.weight)
		return;
	s.stack = profile_stack(w->p, w->frames, depth);
	profile_add_sample(w->p, &s);
}

/* Recursion is as deep as a path, MAX_DEPTH at most. */
static void visit(struct walk *w, uint32_t number, size_t depth, double share)
{
	const struct callgrind_node *n = &w->g->nodes[number];
	const struct callgrind_call *calls = n->nr_calls ? w->g->calls + n->first_call : NULL;
	bool is_last = ++w->nr_visits > MAX_VISITS || share < w->smallest || depth + 1 == MAX_DEPTH;
	double whole = n->self;

	w->frames[depth++] = n->frame;
	w->on_path[number] = true;
	if (!is_last)
		for (size_t i = 0; i < n->nr_calls; i++)
			whole += w->on_path[calls[i].to] ? 0 : calls[i].cost;
	if (is_last || !(whole > 0)) {
		add_stack(w, depth, share);
	} else {
		add_stack(w, depth, share * n->self / whole);
		for (size_t i = 0; i < n->nr_calls; i++)
			if (!w->on_path[calls[i].to])
				visit(w, calls[i].to, depth, share * calls[i].cost / whole);
	}
	w->on_path[number] = false;
}

int callgrind_graph_add_stacks(struct callgrind_graph *g, struct profile *p)
{
	struct walk *w = xcalloc(1, sizeof(*w));
	double total = 0;
	int err = 0;

	merge_calls(g);
	for (size_t i = 0; i < g->nr_nodes; i++)
		total += g->nodes[i].self;
	if (!(total > 0))
		err = -ENODATA;
	else if (!(total < (double)TREE_MAX_TOTAL))
		err = -ERANGE;
	w->g = g;
	w->p = p;
	w->smallest = total * SMALLEST_SHARE;
	w->on_path = xcalloc(g->nr_nodes + 1, sizeof(*w->on_path));
	for (size_t i = 0; i < g->nr_nodes && !err; i++) {
		const struct callgrind_node *n = &g->nodes[i];
		double own = n->self + n->outgoing - n->incoming;

		/* A sum of calls that contradicts the self costs adds nothing beyond the total. */
		if (own > total - w->sum)
			own = total - w->sum;
		if (own > 0)
			visit(w, (uint32_t)i, 0, own);
	}
	if (!err && !p->nr_samples)
		err = -ENODATA;
	free(w->on_path);
	free(w);
	return err;
}

void callgrind_graph_fini(struct callgrind_graph *g)
{
	number_map_fini(&g->node_of);
	free(g->nodes);
	free(g->calls);
	*g = (struct callgrind_graph){ 0 };
}
