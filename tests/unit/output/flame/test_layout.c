/*
 * The geometry: caps cover the chart without gaps, boxes lie on their parents, and no frame is
 * lost.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/flame/layout.h"
#include "output/tree/tree.h"

static uint64_t rng_state;

static unsigned rng(unsigned n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (unsigned)(rng_state >> 33) % n;
}

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

static void check_boxes(const struct layout *l, const struct tree *tree)
{
	uint32_t next = 0; /* depth first, without gaps: every frame is in a box */

	for (size_t i = 0; i < l->nr_boxes; i++) {
		const struct layout_box *box = &l->boxes[i];
		const struct tree_node *n = &tree->nodes[box->node];

		assert_int_equal(box->node, next);
		assert_int_equal(box->row, n->depth);
		assert_true(box->row < l->nr_rows);
		next = box->run_end ? box->run_end : box->node + 1;
		if (box->run_end) {
			assert_int_equal(box->cap_x, box->x);
			assert_int_equal(box->cap_width, box->width);
		} else {
			assert_int_equal(box->width, n->total);
			assert_int_equal(box->cap_width, n->self);
			assert_int_equal(box->cap_x + box->cap_width, box->x + box->width);
		}
	}
	assert_int_equal(next, tree->nr_nodes);
}

static void check(const struct tree *tree, const struct layout_limits *limits)
{
	struct layout l;

	layout_init(&l, tree, limits);
	check_boxes(&l, tree);
	check_caps_tile(&l, tree->nodes[0].total);
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

/* 1 % of the samples is 500 frames deep, half of them 300 frames, the rest is flat. */
static void a_thin_tower_does_not_make_the_picture_tall_and_a_wide_one_does(void **state)
{
	const struct layout_limits limits = { .columns = 1180, .max_boxes = 4000, .max_rows = 800 };
	static const struct {
		unsigned depth;
		uint64_t weight;
	} stacks[] = { { 500, 10 }, { 300, 500 }, { 3, 490 } };
	struct profile *p = profile_new();
	struct layout layout;
	struct tree *tree;
	uint64_t caps = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		uint32_t frames[500];

		for (unsigned k = 0; k < stacks[i].depth; k++) {
			char name[2] = { (char)('a' + i), (char)('a' + k % 20) };

			frames[k] = profile_named_frame(p, name, 2, FUNCTION_NATIVE);
		}
		profile_add_sample(p, &(struct profile_sample){
					      .weight = stacks[i].weight,
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, stacks[i].depth),
					      .column = COLUMN_COUNT,
				      });
	}
	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), 0);
	layout_init(&layout, tree, &limits);
	assert_in_range(layout.nr_rows, 301, 302);
	for (size_t i = 0; i < layout.nr_boxes; i++)
		caps += layout.boxes[i].cap_width;
	assert_int_equal(caps, 1000);
	layout_fini(&layout);
	tree_free(tree);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thin_tower_does_not_make_the_picture_tall_and_a_wide_one_does),
		cmocka_unit_test(caps_cover_every_position_once),
		cmocka_unit_test(narrow_frames_become_runs),
		cmocka_unit_test(too_many_boxes_are_merged_until_they_are_few),
		cmocka_unit_test(too_many_rows_are_cut_into_runs),
		cmocka_unit_test(an_empty_tree_is_one_box),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
