/*
 * The call tree of one column of a profile: a node for each path of functions from the root, with
 * what was spent in the function itself (self) and in the function with everything it called
 * (total). The root is "all"; below it is a node per thread name (in merged profiles below a node
 * per host or other label), then the functions.
 *
 * Nodes lie in an array in depth-first order, children sorted by name. So a subtree is a range, a
 * parent comes before its children, and a walk over the whole tree is a loop.
 */
#ifndef SPROF_TREE_H
#define SPROF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/tree/functions.h"

struct tree;
struct tree_margins;

/* Sums stay below this, so that JavaScript, whose numbers are doubles, holds them exactly. */
#define TREE_MAX_TOTAL (UINT64_C(1) << 53)

struct tree_node {
	uint32_t function; /* index in functions.list */
	uint32_t parent;   /* index of a node; the root is its own parent */
	uint32_t end;	   /* nodes [i, end) are node i and all below it */
	uint32_t depth : 31;
	uint32_t inlined : 1; /* in every sample of this node */
	uint32_t line;	      /* lines before this node, an index in the sums: see tree_self() */
};

/* The number of events at a node (samples, launches, ...), see column_info. */
struct tree_events {
	uint64_t self, total;
};

/* The part of a function's self for which the GIL is known, and the part that held it. */
struct tree_gil {
	uint64_t known, held;
};

/* How many nodes an outline leaves out below a node. */
struct tree_cut {
	uint32_t nr;
	uint32_t deepest; /* depth of the deepest of them, if there are any */
};

/*
 * A million stacks can have 15 million nodes, of which a picture shows a few thousand. An outline
 * has only the children of nodes that are wide enough; tree_sink gets the others too. A node
 * without its children has its total as self.
 */
struct tree_outline {
	uint64_t least;	       /* a node whose total is less has no children here */
	struct tree_cut *cuts; /* by node */
	struct tree_sum *sums; /* by function, of all nodes: see tree_sums() */
	/*
	 * By function: the events of the stacks in which it is the lowest of all markers, other
	 * than those of repeated frames, and waits. NULL: there are no markers.
	 */
	uint64_t *marked;
};

/*
 * Takes all nodes of a tree in order, as chains: the first node is at `depth`, and each of the
 * others is the only child so far of the one before. All but the last have no self. No node is
 * inlined.
 */
struct tree_sink {
	void (*take)(void *arg, const struct tree *tree, const uint32_t *functions, uint32_t depth,
		     uint32_t nr, uint64_t self);
	void *arg;
};

/* The values divided by those of another column (ratio.h), by function. */
struct tree_ratio {
	const char *name;     /* of the other column; the profile's string */
	bool per_second;      /* its values are ns; the ratios are of seconds */
	double *self, *total; /* below 0: unknown, as the function has none of the other column */
};

struct tree {
	struct tree_functions functions;
	struct tree_node *nodes; /* [0] is the root; there is always one; [nr_nodes] is no node */
	uint32_t nr_nodes;
	/*
	 * Running sums over the lines, the first one 0. A node has only an index into them, which
	 * keeps it small: a million stacks can have 15 million nodes.
	 */
	uint64_t *sums;	      /* in the unit of the column */
	uint64_t *event_sums; /* of events; NULL: self and total are the counts */
	enum profile_column column;
	const struct column_info *info; /* of that column, in this profile */
	/* If requested: by sample its leaf node, PROFILE_NONE = in another column. */
	uint32_t *sample_nodes;
	/* If requested: by function; NULL if nothing is known of the GIL. */
	struct tree_gil *gil;
	struct tree_margins *margins; /* of sampled memory, in its unit: margins_add(); or NULL */
	struct tree_ratio *ratio;     /* to another column: ratio_add(); or NULL */
	struct tree_outline *outline; /* NULL: all nodes are there */
};

struct tree_opts {
	bool without_modules; /* merge functions of one name in different modules */
	bool column_given;    /* else column_default() */
	enum profile_column column;
	const char *event; /* the column is that of this event, which not every profile has */
	bool sample_nodes; /* fill tree.sample_nodes */
	bool gil;	   /* fill tree.gil */
	/*
	 * If not 0, make an outline where the tree allows one: leave out what is below nodes that
	 * have less than 1 / outline_parts of the whole. tree.outline tells if it was made; only
	 * then the sink was called.
	 */
	uint32_t outline_parts;
	struct tree_sink sink; /* take: NULL = not needed */
};

/* Sums over all nodes of a function. Recursive calls count once in the total. */
struct tree_sum {
	uint64_t self, total;
	uint64_t self_samples, total_samples;
	uint32_t nr_nodes;
};

/*
 * Builds the tree of one column. It points into the profile's strings, so the profile must outlive
 * it. 0, or, not reported, -ERANGE if the sum of weights reaches TREE_MAX_TOTAL and -EFBIG if the
 * profile is too large.
 */
int tree_new(const struct profile *p, const struct tree_opts *opts, struct tree **ret_tree);
void tree_free(struct tree *tree);

/* The sums by function; the caller frees the array. */
struct tree_sum *tree_sums(const struct tree *tree);

/*
 * Sorted lines that end at a node come before those that end below it. So the lines that end at a
 * node are those from its `line` up to the `line` of the next node.
 */
static inline uint64_t tree_self(const struct tree *tree, const struct tree_node *n)
{
	return tree->sums[n[1].line] - tree->sums[n->line];
}

static inline uint64_t tree_total(const struct tree *tree, const struct tree_node *n)
{
	return tree->sums[tree->nodes[n->end].line] - tree->sums[n->line];
}

static inline struct tree_events tree_events_of(const struct tree *tree, const struct tree_node *n)
{
	const uint64_t *sums = tree->event_sums ? tree->event_sums : tree->sums;
	uint64_t before = sums[n->line];

	return (struct tree_events){ sums[n[1].line] - before,
				     sums[tree->nodes[n->end].line] - before };
}

/* How many nodes are left out below this one. */
static inline struct tree_cut tree_cut_of(const struct tree *tree, uint32_t node)
{
	return tree->outline ? tree->outline->cuts[node] : (struct tree_cut){ 0 };
}

static inline const struct tree_function *tree_function_of(const struct tree *tree, uint32_t node)
{
	return &tree->functions.list[tree->nodes[node].function];
}

#endif
