/*
 * core/profile/column.c: each column is summed by itself, in its own unit, and counted by its own
 * events.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/profile/event_name.h"
#include "core/profile/facts.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/tree/tree.h"

static void add(struct profile *p, uint32_t stack, enum profile_column column, uint64_t weight)
{
	profile_add_sample(p, &(struct profile_sample){
				      .weight = weight,
				      .thread = PROFILE_NONE,
				      .stack = stack,
				      .column = (uint8_t)column,
			      });
}

/* main -> train -> gemm | copy, with CPU samples in train as well. */
static struct profile *mixed_profile(void)
{
	struct profile *p = profile_new();
	uint32_t f[4] = {
		profile_named_frame(p, "main", 4, FUNCTION_NATIVE),
		profile_named_frame(p, "train", 5, FUNCTION_NATIVE),
		profile_named_frame(p, "gemm", 4, FUNCTION_GPU),
		profile_named_frame(p, "copy", 4, FUNCTION_GPU),
	};
	uint32_t cpu = profile_stack(p, f, 2), gemm = profile_stack(p, f, 3);
	uint32_t copy = profile_stack(p, (uint32_t[]){ f[0], f[1], f[3] }, 3);

	for (int i = 0; i < 7; i++)
		add(p, cpu, COLUMN_CPU, 1000);
	add(p, gemm, COLUMN_GPU, 90000);
	add(p, gemm, COLUMN_GPU_LAUNCHES, 30);
	add(p, copy, COLUMN_GPU, 500);
	add(p, copy, COLUMN_GPU_LAUNCHES, 2);
	add(p, copy, COLUMN_GPU_BYTES, 1 << 20);
	add(p, cpu, COLUMN_GPU_IDLE, 12345);
	add(p, cpu, COLUMN_GPU_GAPS, 3);
	return p;
}

static void tree_adds_up_one_column_and_no_other(void **state)
{
	static const struct {
		enum profile_column column;
		uint64_t total, events;
	} expected[] = {
		{ COLUMN_CPU, 7000, 7 },	   { COLUMN_GPU, 90500, 32 },
		{ COLUMN_GPU_IDLE, 12345, 3 },	   { COLUMN_GPU_LAUNCHES, 32, 32 },
		{ COLUMN_GPU_BYTES, 1 << 20, 32 }, { COLUMN_GPU_MEMORY, 0, 0 },
	};
	struct profile *p = mixed_profile();

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct tree_opts opts = { .column_given = true, .column = expected[i].column };
		struct tree *tree;

		assert_int_equal(tree_new(p, &opts, &tree), 0);
		assert_int_equal(tree->column, expected[i].column);
		assert_int_equal(tree_total(tree, &tree->nodes[0]), expected[i].total);
		assert_int_equal(tree_events_of(tree, tree->nodes).total, expected[i].events);
		tree_free(tree);
	}
	profile_free(p);
}

static void column_shown_by_default_is_cpu_time_if_any(void **state)
{
	struct profile *p = mixed_profile(), *gpu = profile_new();

	(void)state;
	assert_int_equal(column_default(p), COLUMN_CPU);
	assert_int_equal(column_default(gpu), COLUMN_CPU);
	add(gpu, profile_stack(gpu, NULL, 0), COLUMN_GPU_LAUNCHES, 1);
	add(gpu, profile_stack(gpu, NULL, 0), COLUMN_GPU, 1);
	assert_int_equal(column_default(gpu), COLUMN_GPU);
	profile_free(p);
	profile_free(gpu);
}

static uint64_t sum_of(const struct profile *p, uint8_t column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_samples; i++)
		sum += p->samples[i].column == column ? p->samples[i].weight : 0;
	return sum;
}

static void wall_clock_time_is_cpu_time_and_waits_together(void **state)
{
	struct profile *p = profile_new();
	uint32_t stack = profile_stack(p, NULL, 0);

	(void)state;
	add(p, stack, COLUMN_WAITING, 20);
	columns_add_wall(p); /* waits alone are no wall-clock time */
	assert_int_equal(p->nr_samples, 1);
	assert_int_equal(column_default(p), COLUMN_WAITING);
	add(p, stack, COLUMN_CPU, 3);
	add(p, stack, COLUMN_RUNNABLE, 100);
	add(p, stack, COLUMN_GPU, 7);
	columns_add_wall(p);
	assert_int_equal(sum_of(p, COLUMN_WALL), 123);
	assert_int_equal(sum_of(p, COLUMN_WAITING), 20);
	assert_int_equal(column_default(p), COLUMN_WALL);
	columns_add_wall(p); /* once */
	assert_int_equal(sum_of(p, COLUMN_WALL), 123);
	profile_free(p);
}

static void exact_columns_have_no_margin_and_say_their_events(void **state)
{
	struct tree_opts opts = { .column_given = true, .column = COLUMN_GPU };
	struct profile *p = mixed_profile();
	struct buffer b = { 0 };
	struct summary s;
	struct tree *tree;

	(void)state;
	p->stats.nr_lost = 5; /* CPU samples */
	assert_int_equal(tree_new(p, &opts, &tree), 0);
	summary_init(&s, p, tree, "");
	summary_add_trust(&b, &s);
	assert_string_equal(buffer_cstring(&b), "32 launches, 0 lost, 0% incomplete, 0% unnamed, "
						"every one counted");
	b.size = 0;
	summary_add_events(&b, &s, 12, false);
	buffer_add_char(&b, ' ');
	summary_add_value(&b, &s, 90500);
	assert_string_equal(buffer_cstring(&b), "12 launches 90.5 us");
	buffer_fini(&b);
	tree_free(tree);
	profile_free(p);
}

static void every_column_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < NR_COLUMNS; i++) {
		const struct column_info *c = &column_table[i];

		assert_int_equal(column_find(c->name), i);
		assert_true(*c->title && *c->events);
		if (c->counted_by == NR_COLUMNS)
			continue;
		assert_int_equal(column_table[c->counted_by].unit, UNIT_COUNT);
		assert_string_equal(column_table[c->counted_by].events, c->events);
	}
	assert_int_equal(column_find("gp"), NR_COLUMNS);
}

/* Names come from files, whose makers may want to break what is written. */
static void events_have_the_names_that_the_profile_says(void **state)
{
	struct profile *p = profile_new();
	struct fact_event e = { .column = COLUMN_EVENT_8, .period = 1 };

	(void)state;
	assert_string_equal(column_info_of(p, COLUMN_EVENT_8)->name, "event-8");
	e.name = profile_cstring(p, "sched:sched_switch");
	column_name_event(p, &e);
	assert_string_equal(column_info_of(p, COLUMN_EVENT_8)->name, "sched:sched_switch");
	assert_true(column_info_of(p, COLUMN_EVENT_8)->exact);
	assert_int_equal(column_find_event(p, "sched:sched_switch"), COLUMN_EVENT_8);
	assert_int_equal(column_find_event(p, "sched"), NR_COLUMNS);
	assert_string_equal(column_info_of(p, COLUMN_CPU)->name, "cpu");
	e.column = COLUMN_EVENT_1;
	e.name = profile_cstring(p, "a:\"b\"<script>");
	column_name_event(p, &e);
	assert_string_equal(column_info_of(p, COLUMN_EVENT_1)->name, "event-1");
	e.name = 1000;
	column_name_event(p, &e);
	e.column = COLUMN_CPU;
	column_name_event(p, &e);
	e.column = UINT64_MAX;
	column_name_event(p, &e);
	assert_string_equal(column_info_of(p, COLUMN_CPU)->name, "cpu");
	profile_free(p);
}

static void names_of_events_are_told_from_others(void **state)
{
	static const char *const are[] = { "page-faults", "cs",		"LLC-loads", "r1a8",
					   "a:b",	  "cpu/x,y=1/", "cycles:u" };
	static const char *const are_not[] = { "", "cpu", "gpus", "page-fault", "run", "a b:c" };

	(void)state;
	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		assert_true(event_name_is_plausible(are[i]));
	for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
		assert_false(event_name_is_plausible(are_not[i]));
}

static void bytes_have_three_digits(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} expected[] = {
		{ 0, "0 B" },
		{ 999, "999 B" },
		{ 1000, "1.00 kB" },
		{ 1048576, "1.05 MB" },
		{ 99950000, "100 MB" },
		{ 80ull << 30, "85.9 GB" },
		{ UINT64_MAX, "18446 PB" },
	};
	struct buffer b = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		b.size = 0;
		number_add_bytes(&b, expected[i].bytes);
		assert_string_equal(buffer_cstring(&b), expected[i].text);
	}
	buffer_fini(&b);
}

/* As in imported files, the values are sums of another profiler; a fact says that they are not. */
static void memory_that_was_sampled_has_an_error(void **state)
{
	const struct fact_memory_sampled fact = { .pid = 1, .least_interval = 65536 };
	struct profile *p = mixed_profile();
	struct profile_sample sample = { .column = COLUMN_ALLOCATED, .weight = 70000 };

	(void)state;
	assert_true(column_info_of(p, COLUMN_LIVE)->sums);
	assert_int_equal(column_events(p, COLUMN_ALLOCATED, &sample), 0);
	facts_put(p, FACT_MEMORY_SAMPLED, &fact);
	for (unsigned int c = COLUMN_ALLOCATED; c <= COLUMN_LIVE_OBJECTS; c++) {
		const struct column_info *info = column_info_of(p, c);

		assert_string_equal(info->name, column_table[c].name);
		assert_string_equal(info->pprof_name, column_table[c].pprof_name);
		assert_int_equal(info->unit, column_table[c].unit);
		assert_false(info->sums || info->exact);
	}
	assert_int_equal(column_events(p, COLUMN_ALLOCATED, &sample), 1);
	assert_true(column_info_of(p, COLUMN_GPU_MEMORY)->exact);
	profile_free(p);
}

static void samples_of_memory_that_were_lost_are_told(void **state)
{
	const struct fact_memory_sampled facts[] = { { .pid = 1, .lost = 3 },
						     { .pid = 2, .lost = 4 } };
	const struct fact_memory_sampled more = { .pid = 2, .lost = 4, .lost_more = 1 };
	const struct tree_opts opts = { .column_given = true, .column = COLUMN_ALLOCATED };
	struct profile *p = mixed_profile();
	struct buffer b = { 0 };
	struct summary s;
	struct tree *t;

	(void)state;
	facts_put(p, FACT_MEMORY_SAMPLED, &facts[0]);
	facts_put(p, FACT_MEMORY_SAMPLED, &facts[1]);
	assert_int_equal(tree_new(p, &opts, &t), 0);
	summary_init(&s, p, t, "");
	summary_add_trust(&b, &s);
	assert_non_null(strstr(buffer_cstring(&b), ", 7 lost"));
	facts_put(p, FACT_MEMORY_SAMPLED, &more);
	summary_init(&s, p, t, "");
	summary_add_trust(&b, &s);
	assert_non_null(strstr(buffer_cstring(&b), ", at least 7 lost"));
	buffer_fini(&b);
	tree_free(t);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_adds_up_one_column_and_no_other),
		cmocka_unit_test(column_shown_by_default_is_cpu_time_if_any),
		cmocka_unit_test(wall_clock_time_is_cpu_time_and_waits_together),
		cmocka_unit_test(exact_columns_have_no_margin_and_say_their_events),
		cmocka_unit_test(every_column_has_a_name_of_its_own),
		cmocka_unit_test(memory_that_was_sampled_has_an_error),
		cmocka_unit_test(samples_of_memory_that_were_lost_are_told),
		cmocka_unit_test(events_have_the_names_that_the_profile_says),
		cmocka_unit_test(names_of_events_are_told_from_others),
		cmocka_unit_test(bytes_have_three_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
