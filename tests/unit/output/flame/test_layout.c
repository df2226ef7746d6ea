/*
 * The geometry: caps cover the chart without gaps, boxes lie on their parents, and no frame is
 * lost.
 */
#include "tests/unit/unit.h"
#include "tests/unit/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/flame/layout.h"
#include "output/tree/tree.h"

static struct tree *random_tree(uint64_t seed, unsigned nr_stacks, unsigned max_depth)
{
	struct profile *p = profile_new();
	uint32_t *frames = xcalloc(max_depth, sizeof(*frames));
	struct tree *tree;

	rng_state = seed * 0x9e3779b97f4a7c15u;
	for (unsigned i = 0; i < nr_stacks; i++) {
		unsigned depth = 1 + rng(max_depth);

		for (unsigned j = 0; j < depth; j++) {
			char name = (char)('a' + rng(4));

			frames[j] = profile_named_frame(p, &name, 1, FUNCTION_NATIVE);
		}
		profile_add_sample(p, &(struct profile_sample){
					      .weight = 1 + rng(rng(10) ? 10 : 1000),
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, depth),
					      .column = COLUMN_COUNT,
				      });
	}
	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), 0);
	/* The layout reads no names, so the profile that they belong to can be freed. */
	profile_free(p);
	free(frames);
	return tree;
}

static int compare_caps(const void *a, const void *b)
{
	const struct layout_box *x = a, *y = b;

	return x->cap_x < y->cap_x ? -1 : x->cap_x > y->cap_x;
}

/* Sorted by position, the caps have no gaps and no overlaps. */
static void check_caps_tile(const struct layout *l, uint64_t total)
{
	struct layout_box *boxes = xcalloc(l->nr_boxes, sizeof(*boxes));
	size_t nr = 0;
	uint64_t at = 0;

	for (size_t i = 0; i < l->nr_boxes; i++)
		if (l->boxes[i].cap_width)
			boxes[nr++] = l->boxes[i];
	qsort(boxes, nr, sizeof(*boxes), compare_caps);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(boxes[i].cap_x, at);
		at += boxes[i].cap_width;
	}
	assert_int_equal(at, total);
	free(boxes);
}

/* A cap lies in the row above its box, and no box of that row may overlap it. */
static void check_no_box_on_a_cap(const struct layout *l)
{
	for (size_t i = 0; i < l->nr_boxes; i++) {
		const struct layout_box *a = &l->boxes[i];

		for (size_t j = 0; j < l->nr_boxes; j++) {
			const struct layout_box *b = &l->boxes[j];

			if (b->row == a->row + 1)
				assert_true(b->x + b->width <= a->cap_x ||
					    b->x >= a->cap_x + a->cap_width);
			if (b->row == a->row && i != j)
				assert_true(b->x + b->width <= a->x || b->x >= a->x + a->width);
		}
	}
}

/* Counts in `met` the nodes of a box. A fold has all that is not on the frame above it. */
static void meet(const struct layout_box *box, const struct layout_box *above,
		 const struct tree *tree, unsigned char *met)
{
	uint32_t end = box->run_end ? box->run_end : box->node + 1;

	if (box->fold_last) {
		end = tree->nodes[box->node].end;
		assert_int_equal(tree->nodes[above->node].parent, box->fold_last);
		for (uint32_t i = above->node; i < tree->nodes[above->node].end; i++)
			met[i]--;
	}
	for (uint32_t i = box->node; i < end; i++)
		met[i]++;
}

static void check_box(const struct layout_box *box, const struct layout *l, const struct tree *tree)
{
	const struct tree_node *n = &tree->nodes[box->node];

	assert_true(box->row < l->nr_rows);
	assert_true(l->folded ? box->row <= n->depth : box->row == n->depth);
	assert_int_equal(box->cap_x + box->cap_width, box->x + box->width);
	if (box->run_end) {
		assert_int_equal(box->cap_width, box->width);
	} else {
		assert_int_equal(box->width, tree_total(tree, n));
		if (!box->fold_last)
			assert_int_equal(box->cap_width, tree_self(tree, n));
	}
}

/* Every frame is in exactly one box. */
static void check_boxes(const struct layout *l, const struct tree *tree)
{
	unsigned char *met = xcalloc(tree->nr_nodes, 1);

	for (size_t i = 0; i < l->nr_boxes; i++) {
		check_box(&l->boxes[i], l, tree);
		meet(&l->boxes[i], &l->boxes[i + 1 < l->nr_boxes ? i + 1 : i], tree, met);
	}
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		assert_int_equal(met[i], 1);
	free(met);
}

static void check(const struct tree *tree, const struct layout_limits *limits)
{
	struct layout l;

	layout_init(&l, tree, limits);
	check_boxes(&l, tree);
	check_caps_tile(&l, tree_total(tree, &tree->nodes[0]));
	check_no_box_on_a_cap(&l);
	assert_true(l.nr_boxes <= limits->max_boxes);
	assert_true(l.nr_rows <= limits->max_rows);
	layout_fini(&l);
}

static void caps_cover_every_position_once(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 200; round++) {
		struct tree *tree = random_tree(round, 1 + round % 60, 8);

		check(tree, &(struct layout_limits){ 1180, 5000, 800, NULL });
		tree_free(tree);
	}
}

static void narrow_frames_become_runs(void **state)
{
	struct tree *tree = random_tree(7, 400, 9);
	struct layout wide, narrow;
	size_t runs = 0;

	(void)state;
	layout_init(&wide, tree, &(struct layout_limits){ 100000, 50000, 800, NULL });
	layout_init(&narrow, tree, &(struct layout_limits){ 100, 50000, 800, NULL });
	for (size_t i = 0; i < narrow.nr_boxes; i++)
		runs += narrow.boxes[i].run_end != 0;
	assert_true(runs > 10);
	assert_true(narrow.nr_boxes < wide.nr_boxes);
	assert_int_equal(wide.nr_boxes, tree->nr_nodes);
	layout_fini(&wide);
	layout_fini(&narrow);
	check(tree, &(struct layout_limits){ 100, 50000, 800, NULL });
	tree_free(tree);
}

static void too_many_boxes_are_merged_until_they_are_few(void **state)
{
	struct tree *tree = random_tree(11, 400, 9);

	(void)state;
	for (uint32_t max = 400; max >= 20; max /= 2)
		check(tree, &(struct layout_limits){ 1180, max, 800, NULL });
	tree_free(tree);
}

static void too_many_rows_are_cut_into_runs(void **state)
{
	struct tree *tree = random_tree(13, 30, 3000);

	(void)state;
	check(tree, &(struct layout_limits){ 1180, 2400, 800, NULL });
	check(tree, &(struct layout_limits){ 1180, 100, 800, NULL });
	check(tree, &(struct layout_limits){ 1180, 2400, 3, NULL });
	tree_free(tree);
}

static void tall_pictures_are_folded_and_lose_nothing(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 60; round++) {
		struct tree *tree = random_tree(round, 1 + round % 9, 30 + round * 5);

		check(tree, &(struct layout_limits){ 1180, 2400, 800, NULL });
		check(tree, &(struct layout_limits){ 1180, 2400, 20, NULL });
		tree_free(tree);
	}
}

static void an_empty_tree_is_one_box(void **state)
{
	struct profile *p = profile_new();
	struct tree *tree;

	(void)state;
	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), 0);
	check(tree, &(struct layout_limits){ 1180, 2400, 800, NULL });
	tree_free(tree);
	profile_free(p);
}

struct tower {
	unsigned depth;
	uint64_t weight;
	int kind;
};

/* A tree of one stack for each tower; no two of them share a frame. */
static struct tree *tree_of_towers(const struct tower *towers, size_t nr)
{
	struct profile *p = profile_new();
	struct tree *tree;

	for (size_t i = 0; i < nr; i++) {
		uint32_t frames[500];

		for (unsigned k = 0; k < towers[i].depth; k++) {
			char name[2] = { (char)('a' + i), (char)('a' + k % 20) };

			frames[k] = profile_named_frame(p, name, 2, towers[i].kind);
		}
		profile_add_sample(p, &(struct profile_sample){
					      .weight = towers[i].weight,
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, towers[i].depth),
					      .column = COLUMN_COUNT,
				      });
	}
	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), 0);
	profile_free(p);
	return tree;
}

/* The root, of a tall tower its lowest frame, a fold and its highest, and all of the flat one. */
static void towers_do_not_make_the_picture_tall(void **state)
{
	static const struct tower towers[] = { { 500, 10, FUNCTION_NATIVE },
					       { 300, 500, FUNCTION_PYTHON },
					       { 3, 490, FUNCTION_NATIVE } };
	const struct layout_limits limits = { .columns = 1180, .max_boxes = 4000, .max_rows = 800 };
	struct tree *tree = tree_of_towers(towers, 3);
	struct layout layout;

	(void)state;
	layout_init(&layout, tree, &limits);
	assert_true(layout.folded);
	assert_int_equal(layout.nr_rows, 4);
	assert_int_equal(layout.nr_boxes, 10);
	assert_int_equal(layout.boxes[2].fold_last, 499);
	assert_int_equal(layout.boxes[3].node, 500);
	layout_fini(&layout);
	check(tree, &limits);
	tree_free(tree);
}

/* A picture that fits a window shows every frame, and ranges are never folded. */
static void only_tall_pictures_are_folded_and_only_code(void **state)
{
	static const struct tower low[] = { { 31, 10, FUNCTION_NATIVE } };
	static const struct tower ranges[] = { { 33, 10, FUNCTION_RANGE } };
	struct tree *trees[] = { tree_of_towers(low, 1), tree_of_towers(ranges, 1) };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct layout l;

		layout_init(&l, trees[i], &(struct layout_limits){ 1180, 4000, 800, NULL });
		for (size_t k = 0; k < l.nr_boxes; k++)
			assert_int_equal(l.boxes[k].fold_last, 0);
		assert_int_equal(l.nr_rows, i ? 34 : 32);
		layout_fini(&l);
		tree_free(trees[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(towers_do_not_make_the_picture_tall),
		cmocka_unit_test(only_tall_pictures_are_folded_and_only_code),
		cmocka_unit_test(tall_pictures_are_folded_and_lose_nothing),
		cmocka_unit_test(caps_cover_every_position_once),
		cmocka_unit_test(narrow_frames_become_runs),
		cmocka_unit_test(too_many_boxes_are_merged_until_they_are_few),
		cmocka_unit_test(too_many_rows_are_cut_into_runs),
		cmocka_unit_test(an_empty_tree_is_one_box),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
