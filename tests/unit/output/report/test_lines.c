/*
 * Compares sums by line with an oracle that visits every sample and looks for the line in its
 * stack.
 */
#include "tests/unit/unit.h"
#include "tests/unit/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/report/lines.h"

enum { NR_FUNCTIONS = 6, NR_FRAMES = 60, NR_SAMPLES = 400, MAX_DEPTH = 12, MAX_LINE = 9 };

static uint32_t function(struct profile *p, const char *name, const char *file, uint32_t start,
			 enum function_kind kind, uint32_t module)
{
	const struct profile_function f = {
		.name = profile_cstring(p, name),
		.system_name = profile_cstring(p, name),
		.file = profile_cstring(p, file),
		.start_line = start,
		.kind = (uint8_t)kind,
		.module = module,
	};

	return profile_function(p, &f);
}

/*
 * Frames of up to three inlined functions, some of functions without a file, some without a name.
 */
static struct profile *random_profile(void)
{
	struct profile *p = profile_new();
	const struct profile_module m = { .path = profile_cstring(p, "/lib/a.so") };
	uint32_t module = profile_module(p, &m), functions[NR_FUNCTIONS];

	functions[0] = function(p, "f", "/src/a.c", 10, FUNCTION_NATIVE, module);
	/* the same function in another module, where its first line is not known */
	functions[1] = function(p, "f", "/src/a.c", 0, FUNCTION_NATIVE, PROFILE_NONE);
	functions[2] = function(p, "g", "/src/a.c", 20, FUNCTION_NATIVE, module);
	functions[3] = function(p, "M.forward (b.py:3)", "/src/b.py", 3, FUNCTION_PYTHON, module);
	functions[4] = function(p, "sys_read", "/kernel/read.c", 7, FUNCTION_KERNEL, module);
	functions[5] = function(p, "no_file", "", 0, FUNCTION_NATIVE, module);
	for (uint32_t i = 0; i < NR_FRAMES; i++) {
		struct profile_location locations[3];
		uint32_t nr = rng(4);

		for (uint32_t k = 0; k < nr; k++)
			locations[k] = (struct profile_location){
				.function = functions[rng(NR_FUNCTIONS)],
				.line = rng(MAX_LINE),
				.inlined = k > 0,
			};
		assert_int_equal(profile_frame(p, module, i), i);
		profile_set_locations(p, i, locations, nr);
	}
	for (int i = 0; i < NR_SAMPLES; i++) {
		uint32_t frames[MAX_DEPTH], depth = rng(MAX_DEPTH + 1);

		for (uint32_t k = 0; k < depth; k++)
			frames[k] = rng(NR_FRAMES);
		profile_add_sample(p, &(struct profile_sample){
					      .weight = 1 + rng(1000),
					      .thread = PROFILE_NONE,
					      .stack = profile_stack(p, frames, depth),
					      .column = rng(8) ? COLUMN_CPU : COLUMN_COUNT,
				      });
	}
	return p;
}

static bool is_place(const struct profile *p, const struct profile_location *l,
		     const struct lines_function *f, const uint32_t *line)
{
	const struct profile_function *g = &p->functions[l->function];

	return g->kind == f->kind && !strcmp(profile_str(p, g->name), f->name) &&
	       !strcmp(profile_str(p, g->file), f->file) && (!line || l->line == *line);
}

/* `line` NULL: for the whole function. */
static struct lines_sum oracle(const struct profile *p, const struct lines_function *f,
			       const uint32_t *line)
{
	struct lines_sum sum = { 0 };

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_stack *stack = &p->stacks[s->stack];
		const struct profile_location *last = NULL;
		bool there = false, leaf_is_named = false;

		if (s->column != COLUMN_CPU)
			continue;
		for (uint32_t k = 0; k < stack->nr_frames; k++) {
			const struct profile_frame *frame =
				&p->frames[p->stack_frames[stack->first_frame + k]];

			leaf_is_named = frame->nr_locations > 0;
			for (uint32_t n = 0; n < frame->nr_locations; n++) {
				last = &p->locations[frame->first_location + n];
				there |= is_place(p, last, f, line);
			}
		}
		if (!there)
			continue;
		sum.total += s->weight;
		sum.total_samples++;
		if (!leaf_is_named) {
			sum.ends[LINES_END_NATIVE] += s->weight;
			continue;
		}
		switch (p->functions[last->function].kind) {
		case FUNCTION_PYTHON: sum.ends[LINES_END_PYTHON] += s->weight; break;
		case FUNCTION_KERNEL: sum.ends[LINES_END_KERNEL] += s->weight; break;
		default: sum.ends[LINES_END_NATIVE] += s->weight; break;
		}
		if (is_place(p, last, f, line)) {
			sum.self += s->weight;
			sum.self_samples++;
		}
	}
	return sum;
}

static void line_sums_equal_those_of_an_oracle(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		struct profile *p = random_profile();
		uint64_t self = 0, total = 0;
		struct lines l;

		lines_init(&l, p, COLUMN_CPU, RANKING_SELF);
		for (size_t i = 0; i < p->nr_samples; i++)
			total += p->samples[i].column == COLUMN_CPU ? p->samples[i].weight : 0;
		assert_int_equal(l.nr_functions, 4);
		for (size_t i = 0; i < l.nr_functions; i++) {
			const struct lines_function *f = &l.functions[i];
			struct lines_sum sum = oracle(p, f, NULL);

			assert_memory_equal(&sum, &f->sum, sizeof(sum));
			if (i)
				assert_true(f->sum.self <= f[-1].sum.self);
			self += f->sum.self;
			for (uint32_t k = 0; k < f->nr_rows; k++) {
				sum = oracle(p, f, &f->rows[k].line);
				assert_memory_equal(&sum, &f->rows[k].sum, sizeof(sum));
				if (k)
					assert_true(f->rows[k].line > f->rows[k - 1].line);
			}
		}
		assert_int_equal(l.total, total);
		assert_int_equal(self + l.without, total);
		lines_fini(&l);
		profile_free(p);
	}
}

static void a_function_in_two_modules_is_one_and_keeps_its_start(void **state)
{
	struct profile *p = random_profile();
	struct lines l;
	int nr = 0;

	(void)state;
	lines_init(&l, p, COLUMN_CPU, RANKING_TOTAL);
	for (size_t i = 0; i < l.nr_functions; i++)
		if (!strcmp(l.functions[i].name, "f")) {
			assert_int_equal(l.functions[i].start_line, 10);
			nr++;
		}
	assert_int_equal(nr, 1);
	lines_fini(&l);
	profile_free(p);
}

/* In order of time: the interpreter's C, a C extension, Python. */
static void the_interpreter_comes_after_the_program(void **state)
{
	(void)state;
	for (int with_python = 0; with_python < 2; with_python++) {
		struct profile *p = profile_new();
		const struct profile_module python = { .path = profile_cstring(
							       p, "/usr/bin/python3.11") };
		const struct profile_module extension = { .path = profile_cstring(p, "/lib/x.so") };
		uint32_t modules[] = { profile_module(p, &python), profile_module(p, &extension) };
		const uint32_t functions[] = {
			function(p, "eval", "/src/ceval.c", 1, FUNCTION_NATIVE, modules[0]),
			function(p, "sum", "/src/x.c", 1, FUNCTION_NATIVE, modules[1]),
			function(p, "f (a.py:1)", "/src/a.py", 1,
				 with_python ? FUNCTION_PYTHON : FUNCTION_NATIVE, modules[0]),
		};
		struct lines l;

		for (uint32_t i = 0; i < 2 + (uint32_t)with_python; i++) {
			uint32_t frame = profile_frame(p, modules[i == 1], i);

			profile_set_locations(
				p, frame,
				&(struct profile_location){ .function = functions[i], .line = 2 },
				1);
			profile_add_sample(p, &(struct profile_sample){
						      .weight = 30 - 10 * i,
						      .thread = PROFILE_NONE,
						      .stack = profile_stack(p, &frame, 1),
						      .column = COLUMN_CPU,
					      });
		}
		for (int key = RANKING_SELF; key <= RANKING_TOTAL; key++) {
			lines_init(&l, p, COLUMN_CPU, (enum ranking_key)key);
			assert_int_equal(l.nr_functions, 2 + with_python);
			assert_string_equal(l.functions[0].name, with_python ? "sum" : "eval");
			assert_string_equal(l.functions[1].name,
					    with_python ? "f (a.py:1)" : "sum");
			lines_fini(&l);
		}
		profile_free(p);
	}
}

static void add_memory_sample(struct profile *p, uint32_t stack, enum profile_column column,
			      uint64_t weight)
{
	profile_add_sample(p, &(struct profile_sample){ .weight = weight,
							.thread = PROFILE_NONE,
							.stack = stack,
							.column = (uint8_t)column });
}

/* f at line 3 calls g at line 9, which has malloc called; f has it called itself, too. */
static void memory_belongs_to_the_line_of_python_that_asked(void **state)
{
	const struct fact_memory_sampled sampled = { .pid = 1,
						     .least_interval = 1000,
						     .greatest_interval = 1000 };
	struct profile *p = profile_new();
	const struct profile_module m = { .path = profile_cstring(p, "/lib/a.so") };
	uint32_t module = profile_module(p, &m), frames[3], stacks[2];
	const uint32_t functions[] = {
		function(p, "f (b.py:1)", "/src/b.py", 1, FUNCTION_PYTHON, module),
		function(p, "g (b.py:8)", "/src/b.py", 8, FUNCTION_PYTHON, module),
		function(p, "malloc", "/src/malloc.c", 5, FUNCTION_NATIVE, module),
	};
	static const uint32_t line_of[] = { 3, 9, 7 };
	struct lines l;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		frames[i] = profile_frame(p, module, i);
		profile_set_locations(
			p, frames[i],
			&(struct profile_location){ .function = functions[i], .line = line_of[i] },
			1);
	}
	stacks[0] = profile_stack(p, frames, 3);
	stacks[1] = profile_stack(p, (uint32_t[]){ frames[0], frames[2] }, 2);
	facts_put(p, FACT_MEMORY_SAMPLED, &sampled);
	for (int i = 0; i < 9; i++) {
		add_memory_sample(p, stacks[0], COLUMN_ALLOCATED, 1000);
		add_memory_sample(p, stacks[0], COLUMN_ALLOCATIONS, 10);
	}
	add_memory_sample(p, stacks[0], COLUMN_LIVE, 1000);
	add_memory_sample(p, stacks[0], COLUMN_LIVE_OBJECTS, 10);
	add_memory_sample(p, stacks[1], COLUMN_ALLOCATED, 50000); /* always sampled: exact */
	add_memory_sample(p, stacks[1], COLUMN_ALLOCATIONS, 1);
	lines_init(&l, p, COLUMN_ALLOCATED, RANKING_TOTAL);
	assert_true(l.has_memory);
	assert_string_equal(l.functions[0].name, "f (b.py:1)"); /* malloc has the same total */
	assert_int_equal(l.functions[0].sum.self, 50000);
	assert_true(l.functions[0].sum.self_margin < 100);
	assert_int_equal(l.functions[0].sum.total, 59000);
	assert_int_equal(l.functions[0].sum.allocated.blocks, 91);
	assert_true(l.functions[0].sum.allocated.margin > 1.9 * 3000 &&
		    l.functions[0].sum.allocated.margin < 2 * 3000);
	assert_string_equal(l.functions[2].name, "g (b.py:8)");
	assert_int_equal(l.functions[2].rows[0].line, 9);
	assert_int_equal(l.functions[2].rows[0].sum.self, 9000);
	assert_int_equal(l.functions[2].rows[0].sum.live.bytes, 1000);
	assert_int_equal(l.functions[2].rows[0].sum.live.blocks, 10);
	assert_int_equal(l.functions[1].sum.self, 0);
	assert_int_equal(l.functions[1].sum.total, 59000);
	lines_fini(&l);
	profile_free(p);
}

static void a_source_is_named_by_the_end_of_its_path(void **state)
{
	const struct lines_function c = { .name = "ns::f<int>(char)", .file = "/src/x/ab.c" };
	const struct lines_function py = { .name = "M.forward (b.py:3)",
					   .file = "/src/b.py",
					   .kind = FUNCTION_PYTHON };

	(void)state;
	assert_true(lines_matches(&c, "", NULL));
	assert_true(lines_matches(&c, "ab.c", NULL));
	assert_true(lines_matches(&c, "x/ab.c", "f"));
	assert_true(lines_matches(&c, "/src/x/ab.c", "ns::f<int>(char)"));
	assert_false(lines_matches(&c, "b.c", NULL));
	assert_false(lines_matches(&c, "/x/ab.c/", NULL));
	assert_false(lines_matches(&c, "ab.c", "g"));
	assert_true(lines_matches(&py, "b.py", "forward"));
	assert_true(lines_matches(&py, "b.py", "M.forward"));
	assert_false(lines_matches(&py, "b.py", "ward"));
	assert_false(lines_matches(&py, "b.py", "M"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_sums_equal_those_of_an_oracle),
		cmocka_unit_test(a_function_in_two_modules_is_one_and_keeps_its_start),
		cmocka_unit_test(the_interpreter_comes_after_the_program),
		cmocka_unit_test(memory_belongs_to_the_line_of_python_that_asked),
		cmocka_unit_test(a_source_is_named_by_the_end_of_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
