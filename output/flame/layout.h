/*
 * Where the boxes of a static flame graph stand. Positions are in the unit of the tree, so that they
 * are exact: children stand at the left of their parent in order, and what they leave free at the
 * right is its self time. Over that part, in the children's row, lies the cap.
 *
 * At every x there is exactly one cap, and the widths of all caps add up to the root's.
 *
 * Of a diff, what after has stands at the left; at the right, after a gap, what was removed, with the
 * frames that lead to it. Positions are then in the unit of diff->removed_total.
 */
#ifndef SPROF_LAYOUT_H
#define SPROF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff;
struct tree;

/*
 * A frame; or, where frames are too narrow to be drawn, a run of siblings with all that is above
 * them, drawn as one: it has a cap over its whole width.
 */
struct layout_box {
	uint32_t node;	  /* the first of a run */
	uint32_t run_end; /* a run is nodes [node, run_end); 0 = a frame */
	uint32_t row;	  /* the root's is 0 */
	bool removed;	  /* stands for what before had here (output/tree/diff.h) */
	uint64_t x, width;
	uint64_t cap_x, cap_width;
};

struct layout {
	struct layout_box *boxes; /* depth first */
	size_t nr_boxes, capacity;
	uint32_t nr_rows;
	uint64_t min_width; /* narrower frames are in runs; high up, wider ones too */
	uint64_t width;	    /* of the whole picture, never 0 */
};

struct layout_limits {
	uint32_t columns;   /* pixels the root is wide */
	uint32_t max_boxes; /* frames get in runs from wider on until no more boxes are left */
	uint32_t max_rows;
	const struct diff *diff; /* NULL, or of this tree */
};

void layout_init(struct layout *layout, const struct tree *tree,
		 const struct layout_limits *limits);
void layout_fini(struct layout *layout);

#endif
