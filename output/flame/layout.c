/*
 * Lays out a tree in one walk that puts narrow frames in runs. If there are too many boxes, it
 * raises the minimal width and walks again.
 */
#include "output/flame/layout.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "output/tree/diff.h"
#include "output/tree/tree.h"

/* The gap before the removed paths is one of this many parts of the picture. */
enum { GAP_PARTS = 96 };

/*
 * A run is hardly wider than one of this many parts of the picture, so that zooming into runs comes
 * to an end.
 */
enum { RUN_PARTS = 8 };

/*
 * A picture is as tall as its deepest stack. So above this row the minimal width of a frame grows
 * by one such part of the picture with each row.
 */
enum { FREE_ROWS = 64, TOWER_PARTS = 800 };

struct walk {
	struct layout *layout;
	const struct tree *tree;
	const struct layout_limits *limits;
	uint64_t *cursors; /* by row: where the next box begins */
	bool removed;	   /* walks what was removed */
};

static uint64_t total_of(const struct walk *w, uint32_t node)
{
	const struct diff *d = w->limits->diff;

	if (w->removed)
		return d->removed_total[node];
	return w->tree->nodes[node].total << (d ? d->width_shift : 0);
}

static uint64_t self_of(const struct walk *w, uint32_t node)
{
	const struct diff *d = w->limits->diff;

	if (w->removed)
		return d->removed_self[node];
	return w->tree->nodes[node].self << (d ? d->width_shift : 0);
}

/* Frames of this row that are narrower go into runs. */
static uint64_t least_width(const struct layout *l, uint32_t row)
{
	uint64_t least = row < FREE_ROWS ? 0 : l->width * (row - FREE_ROWS + 1) / TOWER_PARTS;

	return least > l->min_width ? least : l->min_width;
}

static struct layout_box *add_box(struct layout *l, const struct layout_box *box)
{
	l->boxes = xgrow(l->boxes, &l->capacity, l->nr_boxes + 1, sizeof(*l->boxes));
	l->boxes[l->nr_boxes] = *box;
	if (l->nr_rows <= box->row)
		l->nr_rows = box->row + 1;
	return &l->boxes[l->nr_boxes++];
}

static void add_to_run(struct walk *w, uint32_t node, uint64_t x)
{
	const struct tree_node *n = &w->tree->nodes[node];
	uint64_t total = total_of(w, node);
	struct layout *l = w->layout;
	struct layout_box *last = l->nr_boxes ? &l->boxes[l->nr_boxes - 1] : NULL;

	if (last && last->run_end == node && last->row == n->depth && last->removed == w->removed &&
	    w->tree->nodes[last->node].parent == n->parent && last->width < l->width / RUN_PARTS) {
		last->run_end = n->end;
		last->width += total;
		last->cap_width += total;
		return;
	}
	add_box(l, &(struct layout_box){ .node = node,
					 .run_end = n->end,
					 .row = n->depth,
					 .removed = w->removed,
					 .x = x,
					 .width = total,
					 .cap_x = x,
					 .cap_width = total });
}

static void add_frame(struct walk *w, uint32_t node, uint64_t x)
{
	uint64_t total = total_of(w, node), self = self_of(w, node);
	uint32_t depth = w->tree->nodes[node].depth;

	w->cursors[depth + 1] = x;
	add_box(w->layout, &(struct layout_box){ .node = node,
						 .row = depth,
						 .removed = w->removed,
						 .x = x,
						 .width = total,
						 .cap_x = x + total - self,
						 .cap_width = self });
}

/* False if there are too many boxes. */
static bool walk_side(struct walk *w, uint64_t from)
{
	const struct tree *tree = w->tree;

	w->cursors[0] = from;
	for (uint32_t i = 0; i < tree->nr_nodes;) {
		const struct tree_node *n = &tree->nodes[i];
		uint64_t total = total_of(w, i), x = w->cursors[n->depth];

		w->cursors[n->depth] += total;
		if (!total && (i || w->limits->diff)) {
			i = n->end;
		} else if (i && (total < least_width(w->layout, n->depth) ||
				 n->depth + 1u >= w->limits->max_rows)) {
			add_to_run(w, i, x);
			i = n->end;
		} else {
			add_frame(w, i, x);
			i++;
		}
		if (w->layout->nr_boxes > w->limits->max_boxes)
			return false;
	}
	return true;
}

static bool walk_tree(struct walk *w)
{
	const struct diff *d = w->limits->diff;

	w->layout->nr_boxes = 0;
	w->layout->nr_rows = 1;
	w->removed = false;
	if (!walk_side(w, 0))
		return false;
	w->removed = true;
	return !d || !d->removed_total[0] || walk_side(w, w->layout->width - d->removed_total[0]);
}

static uint64_t whole_width(const struct tree *tree, const struct diff *d)
{
	uint64_t width = tree->nodes[0].total;

	if (d)
		width = (width << d->width_shift) + d->removed_total[0];
	if (d && tree->nodes[0].total && d->removed_total[0])
		width += width / GAP_PARTS;
	return width ? width : 1;
}

void layout_init(struct layout *layout, const struct tree *tree, const struct layout_limits *limits)
{
	struct layout_limits l = *limits;
	struct walk w = { .layout = layout, .tree = tree, .limits = &l };
	uint64_t pixel;

	*layout = (struct layout){ .width = whole_width(tree, limits->diff) };
	pixel = layout->width / limits->columns;
	layout->min_width = pixel ? pixel : 1;
	w.cursors = xcalloc((size_t)limits->max_rows + 1, sizeof(*w.cursors));
	while (!walk_tree(&w)) {
		/*
		 * First drops narrow boxes; if only wide ones are left, cuts off rows at the top.
		 */
		if (layout->min_width < 16 * pixel)
			layout->min_width += layout->min_width / 2 + 1;
		else if (l.max_rows > 2)
			l.max_rows -= l.max_rows / 4 + 1;
		else
			break;
	}
	free(w.cursors);
}

void layout_fini(struct layout *layout)
{
	free(layout->boxes);
	*layout = (struct layout){ 0 };
}
