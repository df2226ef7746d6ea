/*
 * The call tree of a profile: one node for each path of functions from the root, with what was spent
 * in the function itself (self) and in it with everything it called (total). Root "all", below it a
 * node per thread name (or per host, say, that was merged, and then per thread name), below that the
 * functions, outermost first.
 *
 * Nodes lie in an array in depth-first order, children by name: a subtree is a range, a parent stands
 * before its children, and a walk over the whole tree is a loop.
 */
#ifndef SPROF_TREE_H
#define SPROF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/tree/functions.h"

/* Sums stay below this, so that a script, whose numbers are doubles, holds them exactly. */
#define TREE_MAX_TOTAL (UINT64_C(1) << 53)

struct tree_node {
	uint32_t function; /* index in functions.list */
	uint32_t parent;   /* the root is its own */
	uint32_t end;	   /* nodes [i, end) are node i and all below it */
	uint32_t depth : 31;
	uint32_t inlined : 1; /* in every sample that went through here */
	uint64_t self, total; /* in the unit of the column */
};

/* What was counted at a node, see column_info. */
struct tree_events {
	uint64_t self, total;
};

/* What is known of the GIL in a function's self; its unit is the column's. */
struct tree_gil {
	uint64_t known, held;
};

struct tree {
	struct tree_functions functions;
	struct tree_node *nodes;    /* [0] is the root; there is always one */
	struct tree_events *events; /* by node; NULL: the weights are what was counted */
	uint32_t nr_nodes;
	enum profile_column column;
	/* If asked for: by sample of the profile the node it is self of, PROFILE_NONE = not here. */
	uint32_t *sample_nodes;
	/* If asked for, by function; NULL: no sample says anything of it. */
	struct tree_gil *gil;
};

struct tree_opts {
	bool without_modules; /* functions of one name are one, in whatever module */
	bool column_given;    /* else column_default() */
	enum profile_column column;
	bool sample_nodes; /* keep which sample went where */
	bool gil;	   /* add up what is known of the GIL */
};

/* Sums over all nodes of a function; where it calls itself, its inner calls are not added twice. */
struct tree_sum {
	uint64_t self, total;
	uint64_t self_samples, total_samples;
	uint32_t nr_nodes;
};

/*
 * The tree of one column; it points into the profile's strings. -ERANGE when the sum of weights
 * reaches TREE_MAX_TOTAL.
 */
int tree_new(const struct profile *p, const struct tree_opts *opts, struct tree **ret_tree);
void tree_free(struct tree *tree);

/* By function; the caller frees the array. */
struct tree_sum *tree_sums(const struct tree *tree);

static inline struct tree_events tree_events_of(const struct tree *tree, const struct tree_node *n)
{
	return tree->events ? tree->events[n - tree->nodes]
			    : (struct tree_events){ n->self, n->total };
}

static inline const struct tree_function *tree_function_of(const struct tree *tree, uint32_t node)
{
	return &tree->functions.list[tree->nodes[node].function];
}

#endif
