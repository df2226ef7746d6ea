/*
 * Encodes nodes one after the other, from an array or in chains as an outline hands them over.
 */
#include "output/flame/svg_data_nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "output/flame/svg_data_wide.h"
#include "output/tree/tree.h"

enum { AHEAD = 8 };

static unsigned bytes_of(size_t largest)
{
	unsigned nr = 1;

	while (largest >>= 8)
		nr++;
	return nr;
}

/* The functions that a function called last, the latest first; 0 = none. */
struct recent_calls {
	uint32_t functions[SVG_DATA_RECENT];
};

/*
 * Moves a function to the front of the list and returns the place at which it was, or
 * SVG_DATA_RECENT if it is new. Most calls repeat one of the latest, so the places are small. There
 * is no branch, as it would be guessed wrong at every other node.
 */
static inline unsigned recent_place(struct recent_calls *calls, uint32_t function)
{
	uint32_t *f = calls->functions;
	unsigned past_first = f[0] != function, past_second = past_first & (f[1] != function);
	unsigned place = past_first + past_second + (past_second & (f[2] != function));

	_Static_assert(SVG_DATA_RECENT == 3, "three comparisons");
	f[2] = past_second ? f[1] : f[2];
	f[1] = past_first ? f[0] : f[1];
	f[0] = function;
	return place;
}

static inline void add_calls(struct buffer *parts, unsigned nr_bytes, const uint32_t *distances,
			     size_t nr)
{
	for (unsigned i = 0; i < nr_bytes; i++) {
		struct buffer *b = &parts[SVG_NODES_CALLS + i];
		char *at = b->capacity - b->size < nr ? buffer_reserve(b, nr) : b->data + b->size;

		for (size_t j = 0; j < nr; j++)
			at[j] = (char)(distances[j] >> 8 * i);
		b->size += nr;
	}
}

/* The parts of the data that the nodes make, and what the walk over them keeps. */
struct svg_data_nodes {
	struct buffer parts[SVG_NODES_PARTS];
	struct recent_calls *calls; /* by function; NULL before the first node */
	uint32_t *last;		    /* by depth: the function of the latest node */
	uint32_t *new_calls;	    /* of a chain */
	size_t depths, new_capacity, nr, nr_calls;
	uint32_t above;	   /* depth of the latest node, plus one */
	unsigned nr_bytes; /* of a number of a function */
};

/* Adds the step from the node before, which is at depth `above` - 1. The root is no step. */
static void add_step(struct svg_data_nodes *w, const struct tree_node *n)
{
	unsigned place = recent_place(&w->calls[w->last[n->depth - 1]], n->function);
	uint64_t up = w->above - n->depth;

	svg_data_add_number(&w->parts[SVG_NODES_STEPS],
			    (up * 2 + n->inlined) * (SVG_DATA_RECENT + 1) + place);
	if (place == SVG_DATA_RECENT) {
		uint32_t distance = n->function - (up ? w->last[n->depth] : 0);

		assert(!up || n->function >= w->last[n->depth]);
		add_calls(w->parts, w->nr_bytes, &distance, 1);
		w->nr_calls++;
	}
}

struct svg_data_nodes *svg_data_nodes_new(void)
{
	return xcalloc(1, sizeof(struct svg_data_nodes));
}

void svg_data_nodes_free(struct svg_data_nodes *w)
{
	if (!w)
		return;
	for (int i = 0; i < SVG_NODES_PARTS; i++)
		buffer_fini(&w->parts[i]);
	free(w->calls);
	free(w->last);
	free(w->new_calls);
	free(w);
}

static void begin_nodes(struct svg_data_nodes *w, const struct tree *tree)
{
	w->calls = xcalloc(tree->functions.nr, sizeof(*w->calls));
	w->nr_bytes = bytes_of(tree->functions.nr);
}

static inline void take_node(struct svg_data_nodes *w, const struct tree_node *n, uint64_t self)
{
	if (n->depth >= w->depths)
		w->last = xgrow(w->last, &w->depths, (size_t)n->depth + 1, sizeof(*w->last));
	if (n->depth)
		add_step(w, n);
	w->last[n->depth] = n->function;
	w->above = n->depth + 1;
	svg_data_add_number(&w->parts[SVG_NODES_SELF], self);
}

static void make_room(struct svg_data_nodes *w, const struct tree *tree, uint32_t nr)
{
	begin_nodes(w, tree);
	buffer_reserve(&w->parts[SVG_NODES_STEPS], nr);
	buffer_reserve(&w->parts[SVG_NODES_SELF], nr);
	w->nr = nr;
}

static void take_tree(struct svg_data_nodes *w, const struct tree *tree)
{
	const struct tree_node *nodes = tree->nodes;
	size_t nr = tree->nr_nodes;

	make_room(w, tree, tree->nr_nodes);
	for (uint32_t i = 0; i < nr; i++) {
		if (i + AHEAD < nr) /* its children will need it */
			__builtin_prefetch(&w->calls[nodes[i + AHEAD].function]);
		take_node(w, &nodes[i], tree_self(tree, &nodes[i]));
	}
}

/* A node of which something is left out has its total as self. */
static void take_wide(struct svg_data_nodes *w, const struct tree *tree,
		      const struct wide_nodes *wide)
{
	make_room(w, tree, wide->nr);
	for (uint32_t i = 0; i < wide->nr; i++) {
		const struct tree_node *n = &tree->nodes[wide->list[i].node];

		take_node(w, n, wide->list[i].cut.nr ? tree_total(tree, n) : tree_self(tree, n));
	}
}

/*
 * Adds the steps to all nodes of a chain but the first, which is a step up from the one before. The
 * calls are put apart first, without a branch that would be guessed wrong.
 */
static void add_chain(struct svg_data_nodes *w, const uint32_t *functions, uint32_t nr)
{
	char *steps = buffer_reserve(&w->parts[SVG_NODES_STEPS], nr);
	struct recent_calls *calls = w->calls;
	size_t nr_new = 0;
	uint32_t *new;

	if (nr > w->new_capacity)
		w->new_calls = xgrow(w->new_calls, &w->new_capacity, nr, sizeof(*w->new_calls));
	new = w->new_calls;
	for (uint32_t i = 1; i < nr; i++) {
		unsigned place = recent_place(&calls[functions[i - 1]], functions[i]);

		steps[i - 1] = (char)place;
		new[nr_new] = functions[i];
		nr_new += place == SVG_DATA_RECENT;
	}
	w->parts[SVG_NODES_STEPS].size += nr - 1;
	if (nr_new)
		add_calls(w->parts, w->nr_bytes, new, nr_new);
	w->nr_calls += nr_new;
}

void svg_data_nodes_take(void *nodes, const struct tree *tree, const uint32_t *functions,
			 uint32_t depth, uint32_t nr, uint64_t self)
{
	struct svg_data_nodes *w = nodes;
	struct buffer *selves = &w->parts[SVG_NODES_SELF];

	if (!w->calls)
		begin_nodes(w, tree);
	if (depth + nr > w->depths)
		w->last = xgrow(w->last, &w->depths, (size_t)depth + nr, sizeof(*w->last));
	if (depth)
		add_step(w, &(struct tree_node){ .function = functions[0], .depth = depth });
	add_chain(w, functions, nr);
	memcpy(w->last + depth, functions, nr * sizeof(*functions));
	w->above = depth + nr;
	w->nr += nr;
	memset(buffer_reserve(selves, nr), 0, nr - 1);
	selves->size += nr - 1;
	svg_data_add_number(selves, self);
}

struct svg_data_nodes *svg_data_nodes_of(const struct tree *tree, const struct wide_nodes *wide)
{
	struct svg_data_nodes *w = svg_data_nodes_new();

	if (wide)
		take_wide(w, tree, wide);
	else
		take_tree(w, tree);
	return w;
}

size_t svg_data_nodes_count(const struct svg_data_nodes *w)
{
	return w->nr;
}

void svg_data_nodes_move(struct svg_data_nodes *w, struct buffer *head, struct buffer *parts)
{
	buffer_add_varint(head, w->nr);
	buffer_add_varint(head, w->parts[SVG_NODES_STEPS].size);
	buffer_add_varint(head, w->nr_calls);
	for (int i = 0; i < SVG_NODES_PARTS; i++) {
		parts[i] = w->parts[i];
		w->parts[i] = (struct buffer){ 0 };
	}
}
