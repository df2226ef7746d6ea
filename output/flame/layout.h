/*
 * The positions of the boxes in a static flame graph, in the unit of the tree, so they are exact.
 * Children are placed from the left edge of their parent in order. The part of the parent that they
 * do not cover, at its right, is its self time; the cap lies over that part, in the row of the
 * children. So there is exactly one cap at every x, and the widths of all caps add up to the width
 * of the root.
 *
 * In a diff the paths of after are at the left. The removed paths, with the frames that lead to
 * them, follow at the right after a gap. Positions are then in the unit of diff->removed_total.
 */
#ifndef SPROF_LAYOUT_H
#define SPROF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff;
struct tree;

/*
 * A frame, a run or a fold. A run is neighbouring siblings that are too narrow to draw, with
 * everything above them, drawn as one box with a cap over its whole width. A fold is several
 * frames of which each spends nearly all of its time in the next, drawn as one box in one row; its
 * cap lies over the time that does not reach the frame above it.
 */
struct layout_box {
	uint32_t node;	    /* of a run or a fold: the first */
	uint32_t run_end;   /* a run is nodes [node, run_end); else 0 */
	uint32_t fold_last; /* of a fold: its last frame; else 0 */
	uint32_t row;	    /* 0 = the root's */
	bool removed;	    /* shows what the path had before (output/tree/diff.h) */
	uint64_t x, width;
	uint64_t cap_x, cap_width;
};

struct layout {
	struct layout_box *boxes; /* depth first */
	size_t nr_boxes, capacity;
	uint32_t nr_rows;
	uint64_t min_width; /* narrower frames are put in runs; in high rows also wider ones */
	bool folded;	    /* it would be too tall otherwise */
	uint64_t width;	    /* of the whole picture, never 0 */
};

struct layout_limits {
	uint32_t columns;   /* width of the root in pixels */
	uint32_t max_boxes; /* the minimal width is raised until there are not more */
	uint32_t max_rows;
	const struct diff *diff; /* NULL, or of this tree */
};

void layout_init(struct layout *layout, const struct tree *tree,
		 const struct layout_limits *limits);
void layout_fini(struct layout *layout);

#endif
