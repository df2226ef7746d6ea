/*
 * Compares the tree with an oracle without sorting: it keeps every distinct path as text and takes
 * each sum over all of them.
 */
#include "tests/unit/unit.h"
#include "tests/unit/tree_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/import/importer.h"
#include "output/tree/tree.h"

enum { MAX_LINES = 40, MAX_DEPTH = LINES_MAX_DEPTH };

/* Names with common beginnings, and with bytes below ';', which break the order of lines. */
static const char *const names[] = {
	"f", "f.part.0", "f(int)", "f f", "f-1", "f2", "g", "f:x", "f!"
};
#define NR_NAMES (sizeof(names) / sizeof(*names))

struct line {
	char text[256]; /* "comm;f;g", each name with its separator */
	uint64_t weight;
};

static void random_lines(struct line *lines, unsigned nr, uint64_t unit)
{
	for (unsigned i = 0; i < nr; i++) {
		random_line(lines[i].text, sizeof(lines[i].text), MAX_DEPTH, names, NR_NAMES);
		lines[i].weight = unit * (1 + rng(100));
	}
}

static struct profile *profile_of(const struct line *lines, unsigned nr)
{
	struct profile *p = profile_new();

	for (unsigned i = 0; i < nr; i++)
		add_line(p, lines[i].text, lines[i].weight);
	return p;
}

static struct profile *profile_of_text(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct profile *p;

	assert_int_equal(import_collapsed.read(f, "text", &(struct import_opts){ 0 }, &p), 0);
	fclose(f);
	return p;
}

static struct tree *tree_of(const struct profile *p)
{
	struct tree *tree;

	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), 0);
	return tree;
}

static unsigned count_paths(const struct line *lines, unsigned nr)
{
	static char seen[MAX_LINES * MAX_DEPTH][256];
	unsigned nr_seen = 0;

	for (unsigned i = 0; i < nr; i++) {
		for (const char *end = strchr(lines[i].text, ';'); end;
		     end = strchr(end + 1, ';')) {
			size_t n = (size_t)(end - lines[i].text) + 1;
			unsigned j = 0;

			while (j < nr_seen &&
			       (strlen(seen[j]) != n || strncmp(seen[j], lines[i].text, n)))
				j++;
			if (j == nr_seen)
				memcpy(seen[nr_seen++], lines[i].text, n), seen[j][n] = '\0';
		}
	}
	return nr_seen;
}

static void check_against_oracle(const struct tree *tree, const struct line *lines, unsigned nr)
{
	char path[256];

	assert_int_equal(tree->nr_nodes, count_paths(lines, nr) + 1);
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		uint64_t self = 0, total = 0;

		path_of(tree, i, path, sizeof(path));
		for (unsigned j = 0; j < nr; j++) {
			if (strncmp(lines[j].text, path, strlen(path)))
				continue;
			total += lines[j].weight;
			if (!strcmp(lines[j].text, path))
				self += lines[j].weight;
		}
		assert_int_equal(tree_self(tree, n), self);
		assert_int_equal(tree_total(tree, n), total);
		assert_int_equal(tree_events_of(tree, n).self, self);
		assert_int_equal(tree_events_of(tree, n).total, total);
		assert_true(n->end > i && n->end <= tree->nr_nodes);
		if (i)
			assert_int_equal(n->depth, tree->nodes[n->parent].depth + 1);
	}
	for (unsigned i = 0; tree->sample_nodes && i < nr; i++) {
		path_of(tree, tree->sample_nodes[i], path, sizeof(path));
		assert_string_equal(path, lines[i].text);
	}
}

/* The total of a function counts each line once; its self counts lines that it ends. */
static void check_sums(const struct tree *tree, const struct line *lines, unsigned nr)
{
	struct tree_sum *sums = tree_sums(tree);
	uint64_t all_self = 0;

	for (size_t f = 1; f < tree->functions.nr; f++) {
		uint64_t self = 0, total = 0;

		for (unsigned i = 0; i < nr; i++) {
			bool leaf, has;

			has = line_has(lines[i].text, tree->functions.list[f].name, &leaf);
			total += has ? lines[i].weight : 0;
			self += leaf ? lines[i].weight : 0;
		}
		assert_int_equal(sums[f].self, self);
		assert_int_equal(sums[f].total, total);
		all_self += self;
	}
	assert_int_equal(all_self, tree_total(tree, &tree->nodes[0]));
	free(sums);
}

static void random_trees_equal_the_oracle(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 4000; round++) {
		struct line lines[MAX_LINES];
		unsigned nr = 1 + (round * 7919) % MAX_LINES;
		struct tree_opts opts = { .sample_nodes = round % 2 };
		struct profile *p;
		struct tree *tree;

		rng_state = 0x9e3779b97f4a7c15u * round;
		random_lines(lines, nr, round % 3 ? 1 : UINT32_MAX / 3);
		p = profile_of(lines, nr);
		assert_int_equal(tree_new(p, &opts, &tree), 0);
		check_against_oracle(tree, lines, nr);
		check_sums(tree, lines, nr);
		tree_free(tree);
		profile_free(p);
	}
}

static void assert_same_tree(const struct tree *a, const struct tree *b)
{
	assert_int_equal(a->nr_nodes, b->nr_nodes);
	assert_int_equal(a->functions.nr, b->functions.nr);
	assert_memory_equal(a->nodes, b->nodes, a->nr_nodes * sizeof(*a->nodes));
	for (size_t i = 0; i < a->functions.nr; i++)
		assert_string_equal(a->functions.list[i].name, b->functions.list[i].name);
}

static void order_of_lines_does_not_show(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 300; round++) {
		struct line lines[MAX_LINES];
		struct profile *p, *q;
		struct tree *a, *b;

		rng_state = 0xbf58476d1ce4e5b9u * round;
		random_lines(lines, MAX_LINES, 1);
		p = profile_of(lines, MAX_LINES);
		for (unsigned i = MAX_LINES - 1; i > 0; i--) {
			unsigned j = rng(i + 1);
			struct line line = lines[i];

			lines[i] = lines[j];
			lines[j] = line;
		}
		q = profile_of(lines, MAX_LINES);
		a = tree_of(p);
		b = tree_of(q);
		assert_same_tree(a, b);
		tree_free(a);
		tree_free(b);
		profile_free(p);
		profile_free(q);
	}
}

/* flamegraph.pl and inferno sort whole lines and so draw foo twice. */
static void dots_and_spaces_do_not_split_a_function(void **state)
{
	struct profile *p = profile_of_text("main;foo 50\nmain;foo.part.0;x 30\nmain;foo;bar 70\n");
	struct tree *tree = tree_of(p);

	(void)state;
	assert_int_equal(tree->nr_nodes, 6);
	assert_string_equal(tree_function_of(tree, 1)->name, "main");
	assert_int_equal(tree_total(tree, &tree->nodes[1]), 150);
	assert_string_equal(tree_function_of(tree, 2)->name, "foo");
	assert_int_equal(tree_total(tree, &tree->nodes[2]), 120);
	assert_int_equal(tree_self(tree, &tree->nodes[2]), 50);
	assert_string_equal(tree_function_of(tree, 3)->name, "bar");
	assert_string_equal(tree_function_of(tree, 4)->name, "foo.part.0");
	tree_free(tree);
	profile_free(p);
}

static void recursion_is_counted_once(void **state)
{
	struct profile *p = profile_of_text("f;g;f;f 10\nf 5\ng;f 1\n");
	struct tree *tree = tree_of(p);
	struct tree_sum *sums = tree_sums(tree);

	(void)state;
	assert_string_equal(tree->functions.list[1].name, "f");
	assert_int_equal(sums[1].total, 16);
	assert_int_equal(sums[1].self, 16);
	assert_int_equal(sums[1].nr_nodes, 4);
	assert_int_equal(sums[2].total, 11);
	assert_int_equal(sums[2].self, 0);
	free(sums);
	tree_free(tree);
	profile_free(p);
}

static void set_locations(struct profile *p, uint32_t frame, uint32_t module, const char *outer,
			  const char *inner)
{
	struct profile_location locations[2] = { 0 };
	const char *const of[] = { outer, inner };

	for (int i = 0; i < 2; i++) {
		struct profile_function f = { .name = profile_cstring(p, of[i]), .module = module };

		f.system_name = f.name;
		f.file = profile_cstring(p, "/src/x.c");
		f.start_line = 10;
		locations[i].function = profile_function(p, &f);
		locations[i].inlined = i > 0;
	}
	profile_set_locations(p, frame, locations, 2);
}

/* Like a recording: two threads of one name, inlined functions, an unnamed frame, a marker. */
static struct profile *recorded_profile(void)
{
	struct profile *p = profile_new();
	struct profile_module m = { .path = profile_cstring(p, "/usr/bin/app"),
				    .kind = MODULE_ELF };
	struct profile_module n = { .path = profile_cstring(p, "/lib/libx.so"),
				    .kind = MODULE_ELF };
	uint32_t app = profile_module(p, &m), lib = profile_module(p, &n);
	uint32_t comm = profile_cstring(p, "worker");
	uint32_t frames[4] = {
		profile_marker_frame(p, MARKER_NO_RULE),
		profile_frame(p, app, 0x100),
		profile_frame(p, lib, 0x10),
		profile_frame(p, lib, 0x20),
	};

	set_locations(p, frames[1], app, "run", "step");
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t stack[3] = { frames[0], frames[1], frames[2 + i % 2] };

		profile_add_sample(p, &(struct profile_sample){
					      .weight = 1000 + i,
					      .thread = profile_thread(p, 7, 7 + i % 2, comm),
					      .stack = profile_stack(p, stack, 3),
					      .column = COLUMN_CPU,
				      });
	}
	return p;
}

static void frames_expand_under_their_thread(void **state)
{
	static const struct {
		const char *name, *module;
		enum function_kind kind;
		bool inlined;
	} expected[] = {
		{ "all", "", FUNCTION_THREAD, false },
		{ "worker", "", FUNCTION_THREAD, false },
		{ "[no unwind rule]", "", FUNCTION_MARKER, false },
		{ "run", "app", FUNCTION_NATIVE, false },
		{ "step", "app", FUNCTION_NATIVE, true },
		{ "[libx.so]", "libx.so", FUNCTION_UNKNOWN, false },
	};
	struct profile *p = recorded_profile();
	struct tree *tree = tree_of(p);

	(void)state;
	assert_int_equal(tree->column, COLUMN_CPU);
	assert_int_equal(tree->nr_nodes, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_string_equal(tree_function_of(tree, i)->name, expected[i].name);
		assert_string_equal(tree_function_of(tree, i)->module, expected[i].module);
		assert_int_equal(tree_function_of(tree, i)->kind, expected[i].kind);
		assert_int_equal(tree->nodes[i].inlined, expected[i].inlined);
		assert_int_equal(tree_total(tree, &tree->nodes[i]), 4006);
		assert_int_equal(tree_events_of(tree, &tree->nodes[i]).total, 4);
	}
	assert_string_equal(tree_function_of(tree, 3)->file, "/src/x.c");
	assert_int_equal(tree_function_of(tree, 3)->line, 10);
	tree_free(tree);
	profile_free(p);
}

static void a_function_inlined_in_some_calls_only_is_not_inlined(void **state)
{
	struct profile *p = profile_of_text("m;f_[i];x 1\nm;f;y 1\nm;g_[i] 1\nm;f_[i];z 1\n");
	struct tree *tree = tree_of(p);

	(void)state;
	assert_int_equal(tree->nr_nodes, 7);
	assert_string_equal(tree_function_of(tree, 2)->name, "f");
	assert_int_equal(tree->nodes[2].inlined, 0);
	assert_int_equal(tree_total(tree, &tree->nodes[2]), 3);
	assert_string_equal(tree_function_of(tree, 6)->name, "g");
	assert_int_equal(tree->nodes[6].inlined, 1);
	tree_free(tree);
	profile_free(p);
}

static void functions_of_one_name_in_two_modules_are_two(void **state)
{
	struct profile *p = profile_new();
	struct tree *tree;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct profile_module m = { .path = profile_cstring(p, i ? "/b" : "/a") };
		uint32_t module = profile_module(p, &m), frame = profile_frame(p, module, 1);

		set_locations(p, frame, module, "f", "g");
		profile_add_sample(
			p, &(struct profile_sample){ .weight = 1,
						     .thread = PROFILE_NONE,
						     .stack = profile_stack(p, &frame, 1) });
	}
	tree = tree_of(p);
	assert_int_equal(tree->nr_nodes, 5);
	tree_free(tree);
	assert_int_equal(tree_new(p, &(struct tree_opts){ .without_modules = true }, &tree), 0);
	assert_int_equal(tree->nr_nodes, 3);
	assert_int_equal(tree_total(tree, &tree->nodes[1]), 2);
	tree_free(tree);
	profile_free(p);
}

static void a_stack_of_a_million_frames_is_a_tree(void **state)
{
	enum { DEPTH = 1000000 };
	struct profile *p = profile_new();
	uint32_t *frames = xcalloc(DEPTH, sizeof(*frames));
	struct tree *tree;

	(void)state;
	for (int i = 0; i < DEPTH; i++)
		frames[i] = profile_named_frame(p, "f", 1, FUNCTION_NATIVE);
	for (size_t nr = DEPTH; nr > DEPTH - 40; nr--)
		profile_add_sample(
			p, &(struct profile_sample){ .weight = 1,
						     .thread = PROFILE_NONE,
						     .stack = profile_stack(p, frames, nr) });
	tree = tree_of(p);
	assert_int_equal(tree->nr_nodes, DEPTH + 1);
	assert_int_equal(tree_self(tree, &tree->nodes[DEPTH]), 1);
	assert_int_equal(tree_total(tree, &tree->nodes[DEPTH - 39]), 40);
	tree_free(tree);
	profile_free(p);
	free(frames);
}

static void sums_that_a_script_cannot_hold_are_refused(void **state)
{
	struct profile *p = profile_new();
	struct profile_sample s = { .weight = TREE_MAX_TOTAL / 2, .thread = PROFILE_NONE };
	struct tree *tree = NULL;

	(void)state;
	s.stack = profile_stack(p, NULL, 0);
	profile_add_sample(p, &s);
	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), 0);
	assert_int_equal(tree_self(tree, &tree->nodes[0]), TREE_MAX_TOTAL / 2);
	tree_free(tree);
	profile_add_sample(p, &s);
	tree = NULL;
	assert_int_equal(tree_new(p, &(struct tree_opts){ 0 }, &tree), -ERANGE);
	assert_null(tree);
	profile_free(p);
}

static void no_samples_are_a_root_alone(void **state)
{
	struct profile *p = profile_new();
	struct tree *tree = tree_of(p);

	(void)state;
	assert_int_equal(tree->nr_nodes, 1);
	assert_int_equal(tree_total(tree, &tree->nodes[0]), 0);
	assert_int_equal(tree->nodes[0].end, 1);
	tree_free(tree);
	profile_free(p);
}

static void samples_without_frames_are_their_thread_alone(void **state)
{
	struct profile *p = profile_new();
	struct tree *tree;

	(void)state;
	profile_add_sample(p,
			   &(struct profile_sample){
				   .weight = 7,
				   .thread = profile_thread(p, 1, 1, profile_string(p, "app", 3)),
				   .stack = profile_stack(p, NULL, 0),
				   .column = COLUMN_COUNT,
			   });
	tree = tree_of(p);
	assert_int_equal(tree->nr_nodes, 2);
	assert_int_equal(tree_total(tree, &tree->nodes[1]), 7);
	tree_free(tree);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_trees_equal_the_oracle),
		cmocka_unit_test(order_of_lines_does_not_show),
		cmocka_unit_test(dots_and_spaces_do_not_split_a_function),
		cmocka_unit_test(recursion_is_counted_once),
		cmocka_unit_test(frames_expand_under_their_thread),
		cmocka_unit_test(a_function_inlined_in_some_calls_only_is_not_inlined),
		cmocka_unit_test(functions_of_one_name_in_two_modules_are_two),
		cmocka_unit_test(a_stack_of_a_million_frames_is_a_tree),
		cmocka_unit_test(sums_that_a_script_cannot_hold_are_refused),
		cmocka_unit_test(no_samples_are_a_root_alone),
		cmocka_unit_test(samples_without_frames_are_their_thread_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
