/*
 * Adds up groups in one pass over the nodes: parents come before their children, so the group of a
 * node is known before those of its children, which inherit it.
 */
#include "output/insight/groups.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "output/tree/tree.h"

struct group_sum *groups_add_up(const struct tree *tree, const uint32_t *group_of, uint32_t nr)
{
	uint32_t *of = xcalloc(tree->nr_nodes, sizeof(*of));
	uint32_t *active_end = xcalloc((size_t)nr + 1, sizeof(*active_end));
	struct group_sum *sums = xcalloc((size_t)nr + 1, sizeof(*sums));

	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		uint32_t outer = i ? of[n->parent] : GROUP_NONE, own = group_of[n->function], at;

		of[i] = own && !(outer & GROUP_KEEPS) ? own : outer;
		at = of[i] & ~GROUP_KEEPS;
		sums[at].self += tree_self(tree, n);
		sums[at].self_samples += tree_events_of(tree, n).self;
		if (i < active_end[at] || (at == GROUP_NONE && i))
			continue;
		active_end[at] = n->end;
		sums[at].total += tree_total(tree, n);
		sums[at].total_samples += tree_events_of(tree, n).total;
	}
	free(of);
	free(active_end);
	return sums;
}
