/*
 * Merges random profiles and compares the result with an oracle that adds up lines of text. The
 * statistics are compared with figures computed by hand and with repeated sampling.
 */
#include "tests/unit/unit.h"
#include "tests/unit/tree_lines.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/profile.h"
#include "output/tree/diff.h"
#include "output/flame/layout.h"
#include "output/tree/tree.h"

enum { MAX_LINES = 30, MAX_DEPTH = 7 };

struct line {
	char text[128]; /* "f;g;" */
	uint64_t weight;
	bool after;
};

struct pair {
	struct profile *profiles[2];
	struct tree *trees[2];
	struct diff *diff;
};

static const char *const names[] = { "f", "f.part.0", "g", "h", "f:x" };
#define NR_NAMES (sizeof(names) / sizeof(*names))

static void random_lines(struct line *lines, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		random_line(lines[i].text, sizeof(lines[i].text), MAX_DEPTH, names, NR_NAMES);
		lines[i].weight = 1 + rng(100);
		lines[i].after = rng(2);
	}
}

static void pair_init(struct pair *pair, const struct line *lines, unsigned nr, bool absolute)
{
	for (int side = 0; side < 2; side++) {
		pair->profiles[side] = profile_new();
		for (unsigned i = 0; i < nr; i++)
			if (lines[i].after == side)
				add_line(pair->profiles[side], lines[i].text, lines[i].weight);
		assert_int_equal(tree_new(pair->profiles[side], &(struct tree_opts){ 0 },
					  &pair->trees[side]),
				 0);
	}
	assert_int_equal(diff_new(pair->trees[0], pair->trees[1], absolute, &pair->diff), 0);
}

static void pair_fini(struct pair *pair)
{
	diff_free(pair->diff);
	for (int side = 0; side < 2; side++) {
		tree_free(pair->trees[side]);
		profile_free(pair->profiles[side]);
	}
}

static unsigned count_paths(const struct line *lines, unsigned nr)
{
	unsigned nr_paths = 0;

	for (unsigned i = 0; i < nr; i++) {
		for (const char *end = lines[i].text; (end = strchr(end, ';')); end++) {
			size_t n = (size_t)(end - lines[i].text) + 1;
			unsigned j = 0;

			while (j < i && strncmp(lines[j].text, lines[i].text, n))
				j++;
			nr_paths += j == i;
		}
	}
	return nr_paths;
}

static void check_nodes(const struct diff *d, const struct line *lines, unsigned nr)
{
	assert_int_equal(d->tree->nr_nodes, count_paths(lines, nr) + 1);
	for (uint32_t i = 0; i < d->tree->nr_nodes; i++) {
		uint64_t self[2] = { 0 }, total[2] = { 0 };
		char path[256];

		path_of(d->tree, i, path, sizeof(path));
		for (unsigned j = 0; j < nr; j++) {
			if (strncmp(lines[j].text, path, strlen(path)))
				continue;
			total[lines[j].after] += lines[j].weight;
			self[lines[j].after] += strcmp(lines[j].text, path) ? 0 : lines[j].weight;
		}
		assert_int_equal(d->before[i].self.value, self[0]);
		assert_int_equal(d->before[i].total.value, total[0]);
		assert_int_equal(d->before[i].total.samples, total[0]);
		assert_int_equal(tree_self(d->tree, &d->tree->nodes[i]), self[1]);
		assert_int_equal(tree_total(d->tree, &d->tree->nodes[i]), total[1]);
		assert_int_equal(tree_events_of(d->tree, &d->tree->nodes[i]).total, total[1]);
		assert_true(total[0] + total[1] > 0);
	}
}

/* The total of a function counts each line with the function once. */
static void check_rows(const struct diff *d, const struct line *lines, unsigned nr)
{
	struct diff_row *rows = diff_sums(d);

	for (size_t f = 1; f < d->tree->functions.nr; f++) {
		uint64_t self[2] = { 0 }, total[2] = { 0 };

		for (unsigned i = 0; i < nr; i++) {
			bool leaf, has;

			has = line_has(lines[i].text, d->tree->functions.list[f].name, &leaf);
			total[lines[i].after] += has ? lines[i].weight : 0;
			self[lines[i].after] += leaf ? lines[i].weight : 0;
		}
		assert_int_equal(rows[f].before.self.value, self[0]);
		assert_int_equal(rows[f].before.total.value, total[0]);
		assert_int_equal(rows[f].after.self.value, self[1]);
		assert_int_equal(rows[f].after.total.value, total[1]);
	}
	free(rows);
}

/* The sum of a side below the first n bytes of a path. */
static uint64_t weight_under(const struct line *lines, unsigned nr, bool after, const char *path,
			     size_t n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < nr; i++)
		if (lines[i].after == after && !strncmp(lines[i].text, path, n))
			sum += lines[i].weight;
	return sum;
}

/* Is the path only in before, and the removal of its shortest missing prefix significant? */
static bool is_removed(const struct diff *d, const struct line *lines, unsigned nr,
		       const struct line *line)
{
	uint64_t weight;
	size_t n = 0;

	if (line->after)
		return false;
	while (weight_under(lines, nr, true, line->text, n)) {
		if (!line->text[n])
			return false;
		n = (size_t)(strchr(line->text + n, ';') - line->text) + 1;
	}
	weight = weight_under(lines, nr, false, line->text, n);
	return diff_compare(d, (struct diff_amount){ weight, weight, 0 },
			    (struct diff_amount){ 0, 0, 0 })
		.significant;
}

static void check_removed(const struct diff *d, const struct line *lines, unsigned nr)
{
	double expected = 0, whole = 0;

	for (unsigned i = 0; i < nr; i++) {
		whole += lines[i].after ? 0 : (double)lines[i].weight;
		expected += is_removed(d, lines, nr, &lines[i]) ? (double)lines[i].weight : 0;
	}
	if (whole > 0)
		assert_true(fabs(-diff_removed(d).change - expected / whole) < 1e-9);
}

static void random_diffs_equal_the_oracle(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 3000; round++) {
		struct line lines[MAX_LINES];
		unsigned nr = 1 + (round * 7919) % MAX_LINES;
		struct pair pair;

		rng_state = 0x9e3779b97f4a7c15u * round;
		random_lines(lines, nr);
		pair_init(&pair, lines, nr, round % 2);
		check_nodes(pair.diff, lines, nr);
		check_rows(pair.diff, lines, nr);
		check_removed(pair.diff, lines, nr);
		pair_fini(&pair);
	}
}

static int compare_caps(const void *a, const void *b)
{
	const struct layout_box *x = a, *y = b;

	return x->cap_x < y->cap_x ? -1 : x->cap_x > y->cap_x;
}

/* The caps of each side cover it without gaps, and the sides do not touch. */
static void caps_tile_both_sides(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 500; round++) {
		struct line lines[MAX_LINES];
		struct layout_limits limits = { 1200, round % 3 ? 1000 : 12, 100, NULL };
		uint64_t at = 0, gaps = 0;
		struct layout l;
		struct pair pair;

		rng_state = 0x9e3779b97f4a7c15u * round;
		random_lines(lines, MAX_LINES);
		pair_init(&pair, lines, MAX_LINES, false);
		limits.diff = pair.diff;
		layout_init(&l, pair.diff->tree, &limits);
		qsort(l.boxes, l.nr_boxes, sizeof(*l.boxes), compare_caps);
		for (size_t i = 0; i < l.nr_boxes; i++) {
			if (!l.boxes[i].cap_width)
				continue;
			gaps += l.boxes[i].cap_x != at;
			assert_true(l.boxes[i].cap_x >= at);
			at = l.boxes[i].cap_x + l.boxes[i].cap_width;
		}
		assert_int_equal(at, l.width);
		assert_int_equal(gaps, pair.diff->removed_total[0] &&
						       tree_total(pair.diff->tree,
								  &pair.diff->tree->nodes[0])
					       ? 1
					       : 0);
		layout_fini(&l);
		pair_fini(&pair);
	}
}

static void margins_are_those_of_the_formulas(void **state)
{
	const struct line lines[] = {
		{ "f;", 300, false }, { "g;", 700, false }, { "f;", 420, true }, { "g;", 510, true }
	};
	struct diff_change c;
	struct pair pair;

	(void)state;
	pair_init(&pair, lines, 4, false);
	c = diff_compare(pair.diff, (struct diff_amount){ 300, 300, 0 },
			 (struct diff_amount){ 420, 420, 0 });
	assert_true(fabs(c.before - .3) < 1e-12 && fabs(c.after - 420 / 930.) < 1e-12);
	/* p = 301 / 1002, q = 421 / 932: 1.96 * sqrt(p (1 - p) / 1002 + q (1 - q) / 932) */
	assert_true(fabs(c.margin - .0427387) < 1e-6);
	assert_true(c.significant);
	assert_int_equal(diff_level(&c), 4);
	pair_fini(&pair);
	pair_init(&pair, lines, 4, true);
	c = diff_compare(pair.diff, (struct diff_amount){ 300, 300, 0 },
			 (struct diff_amount){ 420, 420, 0 });
	assert_true(fabs(c.change - .12) < 1e-12);
	assert_true(fabs(c.margin - 1.96 * sqrt(301 + 421) / 1000) < 1e-12);
	pair_fini(&pair);
}

/* In two recordings of one program at most 1 function in 20 may look changed. */
static void equal_programs_rarely_look_changed(void **state)
{
	enum { ROUNDS = 4000, SAMPLES = 400 };
	static const unsigned per_mille[] = { 2, 10, 50, 300 };

	(void)state;
	rng_state = 42;
	for (size_t k = 0; k < sizeof(per_mille) / sizeof(*per_mille); k++) {
		unsigned nr = 0;

		for (unsigned round = 0; round < ROUNDS; round++) {
			struct diff d = { .whole_before = { SAMPLES, SAMPLES },
					  .whole_after = { SAMPLES, SAMPLES } };
			struct diff_amount hits[2] = { { 0 } };

			for (unsigned i = 0; i < 2 * SAMPLES; i++)
				hits[i % 2].samples += rng(1000) < per_mille[k];
			hits[0].value = hits[0].samples;
			hits[1].value = hits[1].samples;
			nr += diff_compare(&d, hits[0], hits[1]).significant;
		}
		/* Four standard deviations above 5 %. */
		assert_true(nr < ROUNDS * .05 + 4 * sqrt(ROUNDS * .05 * .95));
	}
}

static void a_few_samples_prove_nothing(void **state)
{
	struct diff d = { .whole_before = { 1000, 1000 }, .whole_after = { 1000, 1000 } };
	struct diff_amount none = { 0 };

	(void)state;
	for (unsigned n = 1; n <= 5; n++)
		assert_false(diff_compare(&d, none, (struct diff_amount){ n, n, 0 }).significant);
	assert_true(diff_compare(&d, none, (struct diff_amount){ 7, 7, 0 }).significant);
}

static void a_python_function_that_moved_is_the_same(void **state)
{
	static const char *const names_before[] = { "f (x.py:10)", "g (x.py:20)", "h" };
	static const char *const names_after[] = { "f (x.py:12)", "g (y.py:20)", "h" };
	struct pair pair;

	(void)state;
	for (int side = 0; side < 2; side++) {
		struct profile *p = pair.profiles[side] = profile_new();

		for (int i = 0; i < 3; i++) {
			const char *name = side ? names_after[i] : names_before[i];
			uint32_t frame = profile_named_frame(
				p, name, strlen(name), i < 2 ? FUNCTION_PYTHON : FUNCTION_NATIVE);

			profile_add_sample(
				p, &(struct profile_sample){ .weight = 10,
							     .thread = PROFILE_NONE,
							     .stack = profile_stack(p, &frame, 1),
							     .column = COLUMN_COUNT });
		}
		assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &pair.trees[side]), 0);
	}
	assert_int_equal(diff_new(pair.trees[0], pair.trees[1], false, &pair.diff), 0);
	assert_int_equal(pair.diff->tree->nr_nodes, 4);
	assert_string_equal(tree_function_of(pair.diff->tree, 1)->name, "f (x.py:12)");
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(pair.diff->before[i].total.value, 10);
		assert_int_equal(tree_total(pair.diff->tree, &pair.diff->tree->nodes[i]), 10);
	}
	pair_fini(&pair);
}

static void times_and_counts_have_no_absolute_difference(void **state)
{
	const struct line lines[] = { { "f;", 1, false }, { "f;", 1, true } };
	struct diff *d;
	struct pair pair;

	(void)state;
	pair_init(&pair, lines, 2, false);
	pair.trees[0]->column = COLUMN_CPU;
	assert_int_equal(diff_new(pair.trees[0], pair.trees[1], true, &d), -EINVAL);
	pair.trees[0]->sums[pair.trees[0]->nodes[pair.trees[0]->nr_nodes].line] =
		TREE_MAX_TOTAL - 1;
	assert_int_equal(diff_new(pair.trees[0], pair.trees[1], false, &d), -ERANGE);
	pair_fini(&pair);
}

static void the_largest_change_that_is_sure_comes_first(void **state)
{
	const struct line lines[] = { { "a;", 500, false }, { "b;", 300, false },
				      { "c;", 200, false }, { "a;", 400, true },
				      { "b;", 395, true },  { "c;", 205, true } };
	struct diff_row *rows;
	struct pair pair;
	uint32_t nr;

	(void)state;
	pair_init(&pair, lines, 6, false);
	rows = diff_rank(pair.diff, DIFF_SELF, &nr);
	assert_int_equal(nr, 3);
	assert_string_equal(rows[0].function->name, "a");
	assert_string_equal(rows[1].function->name, "b");
	assert_string_equal(rows[2].function->name, "c");
	assert_true(rows[1].self.significant && !rows[2].self.significant);
	free(rows);
	pair_fini(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_diffs_equal_the_oracle),
		cmocka_unit_test(caps_tile_both_sides),
		cmocka_unit_test(margins_are_those_of_the_formulas),
		cmocka_unit_test(equal_programs_rarely_look_changed),
		cmocka_unit_test(a_few_samples_prove_nothing),
		cmocka_unit_test(a_python_function_that_moved_is_the_same),
		cmocka_unit_test(times_and_counts_have_no_absolute_difference),
		cmocka_unit_test(the_largest_change_that_is_sure_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
