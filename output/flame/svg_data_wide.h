/*
 * The nodes of a large tree that the first data element of a picture has: those that can be wide
 * enough to be seen. What is below a narrow node is left out, and counted at that node.
 */
#ifndef SPROF_SVG_DATA_WIDE_H
#define SPROF_SVG_DATA_WIDE_H

#include <stdint.h>

#include "output/tree/tree.h"

struct diff;

struct wide_nodes {
	uint64_t least; /* the width, as in layout.h, below which a node has no children here */
	struct wide_node {
		uint32_t node; /* of the tree */
		struct tree_cut cut;
	} * list;
	uint32_t nr;
};

/*
 * `diff` is NULL, or the diff that the tree is of. If the tree is an outline itself, the list has
 * all of its nodes.
 */
void wide_nodes_init(struct wide_nodes *wide, const struct tree *tree, const struct diff *diff);
void wide_nodes_fini(struct wide_nodes *wide);

#endif
