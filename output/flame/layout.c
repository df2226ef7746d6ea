/*
 * Lays out a tree in one walk that puts narrow frames in runs. If there are too many boxes, it
 * raises the minimal width and walks again; if there are too many rows, it walks again with folds.
 */
#include "output/flame/layout.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "output/tree/diff.h"
#include "output/tree/tree.h"

/* The gap before the removed paths is one of this many parts of the picture. */
enum { GAP_PARTS = 96 };

/*
 * A run is hardly wider than 1 / RUN_PARTS of the picture, so that zooming into runs comes to an
 * end.
 */
enum { RUN_PARTS = 8 };

/*
 * A picture is as tall as its deepest stack. So from row FREE_ROWS on the minimal width of a frame
 * grows by 1 / TOWER_PARTS of the picture with each row.
 */
enum { FREE_ROWS = 64, TOWER_PARTS = 800 };

/*
 * A picture that has more rows than a window shows is folded: a chain of at least FOLD_LEAST frames
 * becomes one box if each spends all but 1 / FOLD_SLACK of the chain's time in the next. Then the
 * minimal width grows from row FOLD_FREE_ROWS on, and twice as fast again and again while the
 * picture is too tall, up to 1 / STEEPEST with each row.
 */
enum { FOLD_ROWS = 32, FOLD_LEAST = 4, FOLD_SLACK = 32, FOLD_FREE_ROWS = 24, STEEPEST = 50 };

/* The next box of a depth of the tree. */
struct level {
	uint64_t x;
	uint32_t row;
	uint32_t only; /* 0, or the one node that is drawn; what lies beside it is in a fold */
};

struct walk {
	struct layout *layout;
	const struct tree *tree;
	const struct layout_limits *limits;
	struct level *levels; /* by depth */
	size_t capacity;
	uint32_t max_rows;
	uint32_t free_rows, tower_parts;
	bool removed; /* walks what was removed */
};

static uint64_t total_of(const struct walk *w, uint32_t node)
{
	const struct diff *d = w->limits->diff;

	if (w->removed)
		return d->removed_total[node];
	return tree_total(w->tree, &w->tree->nodes[node]) << (d ? d->width_shift : 0);
}

static uint64_t self_of(const struct walk *w, uint32_t node)
{
	const struct diff *d = w->limits->diff;

	if (w->removed)
		return d->removed_self[node];
	return tree_self(w->tree, &w->tree->nodes[node]) << (d ? d->width_shift : 0);
}

/* Frames of this row that are narrower go into runs. */
static uint64_t least_width(const struct walk *w, uint32_t row)
{
	const struct layout *l = w->layout;
	uint64_t least = 0;

	if (row >= w->free_rows)
		least = l->width * (row - w->free_rows + 1) / w->tower_parts;
	return least > l->min_width ? least : l->min_width;
}

static struct level *level_at(struct walk *w, uint32_t depth)
{
	w->levels = xgrow(w->levels, &w->capacity, (size_t)depth + 1, sizeof(*w->levels));
	return &w->levels[depth];
}

/*
 * Threads, ranges and waits are what a reader looks for, and a marker is the reason why a stack
 * ends. The lowest frame names the program in stacks from elsewhere.
 */
static bool may_fold(const struct walk *w, uint32_t node)
{
	uint8_t kind = tree_function_of(w->tree, node)->kind;

	return w->tree->nodes[node].depth > 1 && kind != FUNCTION_THREAD &&
	       kind != FUNCTION_RANGE && kind != FUNCTION_MARKER && kind != FUNCTION_GPU &&
	       kind != FUNCTION_WAIT;
}

/*
 * Does a diff show both frames in one colour? A fold has one colour, so it may hide neither another
 * change nor a change of a frame's own time.
 */
static bool same_change(const struct walk *w, uint32_t a, uint32_t b)
{
	const struct diff *d = w->limits->diff;
	struct diff_change self, x, y;

	if (!d)
		return true;
	self = diff_self_of(d, a);
	x = diff_total_of(d, a);
	y = diff_total_of(d, b);
	return !diff_level(&self) && diff_level(&x) == diff_level(&y) &&
	       !d->before[a].total.samples == !d->before[b].total.samples &&
	       !tree_total(w->tree, &w->tree->nodes[a]) == !tree_total(w->tree, &w->tree->nodes[b]);
}

/* The child whose total is `least` or more, or 0. */
static uint32_t child_of(const struct walk *w, uint32_t node, uint64_t least)
{
	const struct tree *tree = w->tree;
	uint64_t left = total_of(w, node);

	for (uint32_t i = node + 1; i < tree->nodes[node].end && left >= least;
	     i = tree->nodes[i].end) {
		uint64_t total = total_of(w, i);

		if (total >= least)
			return i;
		left -= total;
	}
	return 0;
}

/*
 * Returns the last frame of a fold that begins with `node`, or 0. The frame above it is drawn as a
 * frame, because it is where the time begins to part.
 */
static uint32_t fold_last(const struct walk *w, uint32_t node, uint32_t *ret_next)
{
	uint64_t total = total_of(w, node), least = total - total / FOLD_SLACK;
	uint32_t last = 0, next = node, child;

	while (may_fold(w, next) && (child = child_of(w, next, least)) &&
	       same_change(w, next, node)) {
		last = next;
		next = child;
	}
	if (w->tree->nodes[next].depth - w->tree->nodes[node].depth < FOLD_LEAST)
		return 0;
	*ret_next = next;
	return last;
}

static struct layout_box *add_box(struct layout *l, const struct layout_box *box)
{
	l->boxes = xgrow(l->boxes, &l->capacity, l->nr_boxes + 1, sizeof(*l->boxes));
	l->boxes[l->nr_boxes] = *box;
	if (l->nr_rows <= box->row)
		l->nr_rows = box->row + 1;
	return &l->boxes[l->nr_boxes++];
}

static void add_to_run(struct walk *w, uint32_t node, uint64_t x, uint32_t row)
{
	const struct tree_node *n = &w->tree->nodes[node];
	uint64_t total = total_of(w, node);
	struct layout *l = w->layout;
	struct layout_box *last = l->nr_boxes ? &l->boxes[l->nr_boxes - 1] : NULL;

	if (last && last->run_end == node && last->row == row && last->removed == w->removed &&
	    w->tree->nodes[last->node].parent == n->parent && last->width < l->width / RUN_PARTS) {
		last->run_end = n->end;
		last->width += total;
		last->cap_width += total;
		return;
	}
	add_box(l, &(struct layout_box){ .node = node,
					 .run_end = n->end,
					 .row = row,
					 .removed = w->removed,
					 .x = x,
					 .width = total,
					 .cap_x = x,
					 .cap_width = total });
}

static void add_frame(struct walk *w, uint32_t node, uint64_t x, uint32_t row)
{
	uint64_t total = total_of(w, node), self = self_of(w, node);

	*level_at(w, w->tree->nodes[node].depth + 1) = (struct level){ x, row + 1, 0 };
	add_box(w->layout, &(struct layout_box){ .node = node,
						 .row = row,
						 .removed = w->removed,
						 .x = x,
						 .width = total,
						 .cap_x = x + total - self,
						 .cap_width = self });
}

/* Adds the frames from `node` to `last` as one box, and leaves only `next` to draw above it. */
static void add_fold(struct walk *w, uint32_t node, uint32_t last, uint32_t next, uint64_t x,
		     uint32_t row)
{
	const struct tree_node *nodes = w->tree->nodes;
	uint64_t total = total_of(w, node), above = total_of(w, next);

	for (uint32_t i = next; i != node; i = nodes[i].parent)
		*level_at(w, nodes[i].depth) = (struct level){ x, row + 1, i };
	add_box(w->layout, &(struct layout_box){ .node = node,
						 .fold_last = last,
						 .row = row,
						 .removed = w->removed,
						 .x = x,
						 .width = total,
						 .cap_x = x + above,
						 .cap_width = total - above });
}

/* Adds the box of a node that is in the picture, and returns the node to go on with. */
static uint32_t add_node(struct walk *w, uint32_t i)
{
	const struct tree_node *n = &w->tree->nodes[i];
	struct level *at = &w->levels[n->depth];
	uint64_t total = total_of(w, i), x = at->x;
	uint32_t last, next, row = at->row;

	at->x += total;
	if (!total && (i || w->limits->diff))
		return n->end;
	if (i && (total < least_width(w, row) || row + 1 >= w->max_rows)) {
		add_to_run(w, i, x, row);
		return n->end;
	}
	if (i && w->layout->folded && at->only != i && (last = fold_last(w, i, &next))) {
		add_fold(w, i, last, next, x, row);
		return next;
	}
	add_frame(w, i, x, row);
	return i + 1;
}

/* False if there are too many boxes. */
static bool walk_side(struct walk *w, uint64_t from)
{
	const struct tree *tree = w->tree;

	*level_at(w, 0) = (struct level){ from, 0, 0 };
	for (uint32_t i = 0; i < tree->nr_nodes;) {
		uint32_t only = w->levels[tree->nodes[i].depth].only;

		i = only && only != i ? tree->nodes[i].end : add_node(w, i);
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

/* Walks until there are few enough boxes. */
static void walk_within(struct walk *w)
{
	struct layout *l = w->layout;
	uint64_t pixel = l->width / w->limits->columns;

	l->min_width = pixel ? pixel : 1;
	assert(!w->tree->outline ||
	       w->tree->outline->least <= l->min_width - l->min_width / FOLD_SLACK);
	w->max_rows = w->limits->max_rows;
	while (!walk_tree(w)) {
		/*
		 * First drops narrow boxes; if only wide ones are left, cuts off rows at the top.
		 */
		if (l->min_width < 16 * pixel)
			l->min_width += l->min_width / 2 + 1;
		else if (w->max_rows > 2)
			w->max_rows -= w->max_rows / 4 + 1;
		else
			break;
	}
}

static uint64_t whole_width(const struct tree *tree, const struct diff *d)
{
	uint64_t whole = tree_total(tree, tree->nodes), width = whole;

	if (d)
		width = (width << d->width_shift) + d->removed_total[0];
	if (d && whole && d->removed_total[0])
		width += width / GAP_PARTS;
	return width ? width : 1;
}

void layout_init(struct layout *layout, const struct tree *tree, const struct layout_limits *limits)
{
	struct walk w = { .layout = layout,
			  .tree = tree,
			  .limits = limits,
			  .free_rows = FREE_ROWS,
			  .tower_parts = TOWER_PARTS };

	*layout = (struct layout){ .width = whole_width(tree, limits->diff) };
	walk_within(&w);
	if (layout->nr_rows > FOLD_ROWS || w.max_rows < limits->max_rows) {
		layout->folded = true;
		w.free_rows = FOLD_FREE_ROWS;
		walk_within(&w);
		while (layout->nr_rows > FOLD_ROWS && w.tower_parts > STEEPEST) {
			w.tower_parts /= 2;
			walk_within(&w);
		}
	}
	free(w.levels);
}

void layout_fini(struct layout *layout)
{
	free(layout->boxes);
	*layout = (struct layout){ 0 };
}
