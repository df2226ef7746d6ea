/*
 * Computes by function what kind of code its time ended in. A subtree is a range of nodes, so with
 * running sums over all nodes the time below a node is the difference of two sums.
 */
#include "output/insight/split.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "output/tree/tree.h"

typedef uint64_t ends_of[NR_SPLIT_ENDS];

static enum split_end end_of(const struct tree_function *f)
{
	/* The kernel's functions are kernel code even where the kernel hides their names. */
	if (f->kind == FUNCTION_UNKNOWN && !strncmp(f->module, "[kernel", 7))
		return SPLIT_KERNEL;
	switch (f->kind) {
	case FUNCTION_PYTHON: return SPLIT_PYTHON;
	case FUNCTION_KERNEL: return SPLIT_KERNEL;
	case FUNCTION_GPU: return SPLIT_GPU;
	default: return SPLIT_NATIVE;
	}
}

uint64_t (*split_ends(const struct tree *tree))[NR_SPLIT_ENDS]
{
	ends_of *before = xcalloc((size_t)tree->nr_nodes + 1, sizeof(*before));
	ends_of *ends = xcalloc(tree->functions.nr, sizeof(*ends));
	uint32_t *active_end = xcalloc(tree->functions.nr, sizeof(*active_end));

	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		memcpy(before[i + 1], before[i], sizeof(before[i]));
		before[i + 1][end_of(tree_function_of(tree, i))] +=
			tree_self(tree, &tree->nodes[i]);
	}
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];

		if (i < active_end[n->function])
			continue;
		active_end[n->function] = n->end;
		for (int e = 0; e < NR_SPLIT_ENDS; e++)
			ends[n->function][e] += before[n->end][e] - before[i][e];
	}
	free(before);
	free(active_end);
	return ends;
}
