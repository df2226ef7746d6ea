/*
 * A picture that is drawn from the outline of a tree is the picture of the whole tree, byte by
 * byte, with its data.
 */
#include "tests/unit/unit.h"
#include "tests/unit/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "output/flame/svg.h"
#include "output/tree/summary.h"
#include "output/tree/tree.h"

/* What random stacks look like. */
struct shape {
	unsigned nr_stacks, max_depth, nr_names;
	unsigned stay;	/* the chance in 100 that a frame is the most frequent one */
	unsigned heavy; /* one of so many stacks weighs a lot */
	bool markers, waits, zeros, repeats;
};

static uint32_t random_frame(struct profile *p, const struct shape *shape)
{
	unsigned number = rng(100) < shape->stay ? 0 : rng(shape->nr_names);
	char name[16];

	if (shape->markers && !rng(20))
		return profile_marker_frame(p, (enum marker)rng(NR_MARKERS));
	if (shape->markers && !rng(20))
		return profile_named_frame(p, "0x1234", 6, FUNCTION_UNKNOWN);
	if (shape->waits && !rng(20))
		return profile_named_frame(p, "lock wait", 9, FUNCTION_WAIT);
	snprintf(name, sizeof(name), "f%u", number);
	return profile_named_frame(p, name, strlen(name), FUNCTION_NATIVE);
}

static struct profile *random_profile(const struct shape *shape)
{
	struct profile *p = profile_new();
	uint32_t *frames = xcalloc(shape->max_depth + 1, sizeof(*frames));

	for (unsigned i = 0; i < shape->nr_stacks; i++) {
		unsigned depth = rng(shape->max_depth + 1), nr = shape->repeats ? 1 + rng(4) : 1;
		uint64_t weight = shape->zeros && !rng(4) ? 0 : 1 + rng(9);
		uint32_t stack;

		for (unsigned j = 0; j < depth; j++)
			frames[j] = random_frame(p, shape);
		stack = profile_stack(p, frames, depth);
		while (nr--)
			profile_add_sample(p, &(struct profile_sample){
						      .weight = rng(shape->heavy) ? weight : 5000,
						      .thread = PROFILE_NONE,
						      .stack = stack,
						      .column = COLUMN_COUNT,
					      });
	}
	free(frames);
	return p;
}

/* Draws the picture; returns how many nodes the tree has. `summary`: of the tree. */
static uint32_t draw(const struct profile *p, bool outlined, struct buffer *picture,
		     struct summary *summary)
{
	struct tree_opts opts = { .column_given = true, .column = COLUMN_COUNT };
	struct svg_data_nodes *nodes = outlined ? svg_outline(&opts) : NULL;
	struct svg_opts svg = { .title = "test", .nodes = nodes };
	struct tree *tree;
	uint32_t nr;

	assert_int_equal(tree_new(p, &opts, &tree), 0);
	assert_int_equal(tree->outline != NULL, outlined);
	summary_init(summary, p, tree, "");
	svg_write(picture, tree, summary, &svg);
	nr = tree->nr_nodes;
	tree_free(tree);
	svg_outline_free(nodes);
	return nr;
}

/* Returns how many nodes the outline left out. */
static uint32_t check(const struct profile *p)
{
	struct buffer whole = { 0 }, outlined = { 0 };
	struct summary counted, summary;
	uint32_t nr = draw(p, false, &whole, &counted), left = draw(p, true, &outlined, &summary);

	assert_true(left <= nr);
	assert_int_equal(summary.unnamed, counted.unnamed);
	assert_memory_equal(summary.incomplete_by, counted.incomplete_by,
			    sizeof(summary.incomplete_by));
	assert_int_equal(whole.size, outlined.size);
	assert_memory_equal(whole.data, outlined.data, whole.size);
	buffer_fini(&whole);
	buffer_fini(&outlined);
	return nr - left;
}

static void check_shape(const struct shape *shape, unsigned rounds)
{
	uint32_t left_out = 0;

	for (unsigned round = 1; round <= rounds; round++) {
		struct profile *p;

		rng_state = 0x9e3779b97f4a7c15u * round;
		p = random_profile(shape);
		left_out += check(p);
		profile_free(p);
	}
	assert_true(left_out > 0);
}

static void pictures_from_outlines_are_equal(void **state)
{
	static const struct shape few = { 30, 8, 4, 0, 10, .markers = true, .zeros = true },
				  bushy = { 3000, 20, 6, 0, 400, .repeats = true },
				  deep = { 1500, 90, 3, 90, 300, .zeros = true },
				  broad = { 3000, 5, 700, 20, 50, .zeros = true };

	(void)state;
	check_shape(&few, 60);
	check_shape(&bushy, 4);
	check_shape(&deep, 4);
	check_shape(&broad, 3);
}

/* They are counted by stack in an outline, and by node in a whole tree. */
static void markers_and_unnamed_frames_are_counted(void **state)
{
	static const struct shape shape = { 2500, 12, 8, 30, 200, .markers = true, .waits = true };

	struct buffer picture = { 0 };
	struct summary summary;
	struct profile *p;

	(void)state;
	check_shape(&shape, 6);
	p = random_profile(&shape);
	draw(p, true, &picture, &summary);
	for (int marker = 0; marker < NR_MARKERS; marker++)
		assert_int_equal(summary.incomplete_by[marker] > 0,
				 marker != MARKER_REPEATED && marker != MARKER_NO_KERNEL_STACK);
	assert_true(summary.unnamed > 0);
	buffer_fini(&picture);
	profile_free(p);
}

static void add_wait(struct profile *p, bool own_marker, bool waker_marker)
{
	uint32_t frames[5], nr = 0;

	if (own_marker)
		frames[nr++] = profile_marker_frame(p, MARKER_NO_RULE);
	frames[nr++] = profile_named_frame(p, "waits", 5, FUNCTION_NATIVE);
	frames[nr++] = profile_named_frame(p, "lock wait", 9, FUNCTION_WAIT);
	frames[nr++] = profile_named_frame(p, "wakes", 5, FUNCTION_NATIVE);
	if (waker_marker)
		frames[nr++] = profile_marker_frame(p, MARKER_NO_RULE);
	profile_add_sample(p, &(struct profile_sample){
				      .weight = 1,
				      .thread = PROFILE_NONE,
				      .stack = profile_stack(p, frames, nr),
				      .column = COLUMN_COUNT,
			      });
}

/* The waker's frames stand on top of the reason; a sample is of the thread that waited. */
static void a_stack_is_complete_without_the_wakers_root(void **state)
{
	for (int outlined = 0; outlined < 2; outlined++) {
		struct profile *p = profile_new();
		struct buffer picture = { 0 };
		struct summary summary;

		(void)state;
		add_wait(p, false, true);
		draw(p, outlined, &picture, &summary);
		assert_int_equal(summary.incomplete, 0);
		buffer_fini(&picture);
		add_wait(p, true, true);
		add_wait(p, true, false);
		add_wait(p, false, false);
		draw(p, outlined, &picture, &summary);
		assert_int_equal(summary.samples, 4);
		assert_int_equal(summary.incomplete, 2);
		buffer_fini(&picture);
		profile_free(p);
	}
}

static void an_empty_profile_has_an_outline(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	assert_int_equal(check(p), 0);
	profile_free(p);
}

/* Of a thousand frames of a tower some are wide, and the narrow rest is merged. */
static void towers_are_cut_where_they_are_narrow(void **state)
{
	struct profile *p = profile_new();
	uint32_t frames[1000];

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		frames[i] = profile_named_frame(p, i % 2 ? "odd" : "even", i % 2 ? 3 : 4,
						FUNCTION_NATIVE);
	for (unsigned depth = 1; depth <= 1000; depth++)
		profile_add_sample(p, &(struct profile_sample){
					      .weight = depth < 500 ? 1000000 : 1,
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, depth),
					      .column = COLUMN_COUNT,
				      });
	assert_true(check(p) > 100);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pictures_from_outlines_are_equal),
		cmocka_unit_test(markers_and_unnamed_frames_are_counted),
		cmocka_unit_test(a_stack_is_complete_without_the_wakers_root),
		cmocka_unit_test(an_empty_profile_has_an_outline),
		cmocka_unit_test(towers_are_cut_where_they_are_narrow),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
