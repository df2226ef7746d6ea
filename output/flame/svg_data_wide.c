/* Walks over a tree, and passes over what is below narrow nodes. */
#include "output/flame/svg_data_wide.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "output/flame/svg_picture.h"
#include "output/tree/diff.h"

/* The width of a node, or in a diff that of its wider side. */
static uint64_t width_of(const struct tree *tree, const struct diff *diff, uint32_t node)
{
	uint64_t width = tree_total(tree, &tree->nodes[node]);

	if (!diff)
		return width;
	width <<= diff->width_shift;
	return width > diff->removed_total[node] ? width : diff->removed_total[node];
}

static uint64_t least_width(const struct tree *tree, const struct diff *diff)
{
	uint64_t whole = tree_total(tree, tree->nodes);

	if (tree->outline)
		return tree->outline->least;
	if (diff)
		whole = (whole << diff->width_shift) + diff->removed_total[0];
	return whole / SVG_OUTLINE_PARTS;
}

static struct tree_cut cut_at(const struct tree *tree, uint32_t node)
{
	struct tree_cut cut = { .nr = tree->nodes[node].end - node - 1 };

	for (uint32_t i = node + 1; i < tree->nodes[node].end; i++)
		if (tree->nodes[i].depth > cut.deepest)
			cut.deepest = tree->nodes[i].depth;
	return cut;
}

void wide_nodes_init(struct wide_nodes *wide, const struct tree *tree, const struct diff *diff)
{
	size_t capacity = 0;

	*wide = (struct wide_nodes){ .least = least_width(tree, diff) };
	for (uint32_t i = 0; i < tree->nr_nodes;) {
		struct wide_node here = { .node = i };

		if (tree->outline)
			here.cut = tree->outline->cuts[i];
		else if (width_of(tree, diff, i) < wide->least)
			here.cut = cut_at(tree, i);
		if (wide->nr == capacity)
			wide->list = xgrow(wide->list, &capacity, (size_t)wide->nr + 1,
					   sizeof(*wide->list));
		wide->list[wide->nr++] = here;
		i += tree->outline ? 1 : here.cut.nr + 1;
	}
}

void wide_nodes_fini(struct wide_nodes *wide)
{
	free(wide->list);
}
