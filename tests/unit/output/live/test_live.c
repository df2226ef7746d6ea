/* A source is played by the tests: what it puts into the sink is what a copy must hold. */
#include "tests/unit/unit.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "output/live/answer.h"
#include "output/live/live.h"
#include "output/select/dimension.h"
#include "output/tree/ranking.h"

#define S 1000000000ull
#define START (1000 * S)

enum { OWN_PID = 4, PID = 9 };

static const struct profile_stats no_stats;

static struct live *new_live(const struct live_limits *limits)
{
	const struct live_meta meta = {
		.command = "prog",
		.source = "test",
		.freq_hz = 99,
		.start_ns = START,
		.start_realtime_ns = 5 * S,
		.window_s = 10,
		.own_pid = OWN_PID,
	};

	return live_new(&meta, limits);
}

static uint32_t string_of(struct sink *sink, const char *s)
{
	return sink->string(sink, s, strlen(s));
}

static uint32_t module_of(struct sink *sink, const char *path)
{
	const struct profile_module m = { .path = string_of(sink, path), .kind = MODULE_ELF };

	return sink->module(sink, &m);
}

/* A stack of two frames of one module. */
static uint32_t stack_of(struct sink *sink, const char *path, uint64_t root, uint64_t leaf)
{
	uint32_t module = module_of(sink, path), frames[2];

	frames[0] = sink->frame(sink, module, root);
	frames[1] = sink->frame(sink, module, leaf);
	return sink->stack(sink, frames, 2);
}

static void add(struct sink *sink, uint32_t stack, uint32_t pid, uint64_t time_ns)
{
	const struct profile_sample sample = {
		.time_ns = time_ns,
		.weight = 10,
		.stack = stack,
		.thread = sink->thread(sink, pid, pid, string_of(sink, "comm")),
	};

	if (sink->wants(sink, &sample))
		sink->sample(sink, &sample);
}

static void a_copy_holds_what_is_in_the_window(void **state)
{
	struct live *live = new_live(&live_limits_default);
	struct sink *sink = live_sink(live);
	struct live_state now;
	struct profile *p;

	(void)state;
	add(sink, stack_of(sink, "/bin/a", 1, 2), PID, START);
	live_advance(live, START + 20 * S, &no_stats);
	add(sink, stack_of(sink, "/bin/a", 1, 3), PID, START + 20 * S);
	add(sink, stack_of(sink, "/bin/a", 1, 3), PID, START + 20 * S);
	p = live_copy(live, &now);
	assert_int_equal(p->nr_samples, 2);
	assert_int_equal(p->nr_stacks, 1);
	assert_int_equal(now.nr_samples_ever, 3);
	assert_string_equal(profile_str(p, p->meta.command), "prog");
	assert_int_equal(p->meta.start_ns, START + 11 * S);
	assert_int_equal(p->meta.start_realtime_ns, 16 * S);
	assert_int_equal(p->meta.end_ns, START + 20 * S);
	profile_free(p);
	live_free(live);
}

static void own_samples_are_left_out(void **state)
{
	struct live *live = new_live(&live_limits_default);
	struct sink *sink = live_sink(live);
	struct live_state now;
	struct profile *p;

	(void)state;
	add(sink, stack_of(sink, "/bin/a", 1, 2), OWN_PID, START);
	p = live_copy(live, &now);
	assert_int_equal(p->nr_samples, 0);
	profile_free(p);
	live_free(live);
}

/* What the symbolizer does to a round. */
static void name_all(struct profile *p)
{
	for (uint32_t i = 0; i < p->nr_frames; i++) {
		char *name = xasprintf("f%d", (int)p->frames[i].address);
		struct profile_function f = { .module = p->frames[i].module,
					      .name = profile_cstring(p, name) };
		struct profile_location l;

		f.system_name = f.name;
		l = (struct profile_location){ .function = profile_function(p, &f), .line = 7 };
		profile_set_locations(p, i, &l, 1);
		free(name);
	}
}

static void frames_get_their_names_in_rounds(void **state)
{
	const struct live_question question = { .by = dimension_table };
	struct live *live = new_live(&live_limits_default);
	struct sink *sink = live_sink(live);
	struct live_round *round;
	struct live_answer *a;
	struct live_state now;
	struct ranking ranking;
	struct profile *p;

	(void)state;
	stack_of(sink, "/bin/unused", 8, 9); /* without a sample it needs no name */
	add(sink, stack_of(sink, "/bin/a", 1, 2), PID, START);
	add(sink, stack_of(sink, "/bin/b", 5, 6), PID, START);
	round = live_round_new(live, 1);
	assert_int_equal(round->profile->nr_frames, 2); /* of one module */
	name_all(round->profile);
	live_round_end(live, round);
	round = live_round_new(live, 1);
	assert_int_equal(round->profile->nr_frames, 2);
	name_all(round->profile);
	live_round_end(live, round);
	assert_null(live_round_new(live, 1));
	p = live_copy(live, &now);
	a = live_answer_new(&question, p, &now);
	ranking_init(&ranking, a->rows.tree, RANKING_SELF);
	assert_int_equal(ranking.nr_rows, 4);
	assert_string_equal(ranking.rows[0].function->name, "f2");
	assert_string_equal(ranking.rows[0].function->module, "a");
	assert_string_equal(ranking.rows[1].function->name, "f6");
	assert_string_equal(ranking.rows[1].function->module, "b");
	ranking_fini(&ranking);
	live_answer_free(a);
	live_free(live);
}

/* Names of what few samples have can wait. */
static void a_round_is_as_urgent_as_many_samples_wait_for_it(void **state)
{
	struct live *live = new_live(&live_limits_default);
	struct sink *sink = live_sink(live);
	struct live_round *round;

	(void)state;
	assert_int_equal(live_round_urgency(live), LIVE_CALM);
	for (int i = 0; i < 99; i++)
		add(sink, stack_of(sink, "/bin/a", 1, 2), PID, START);
	assert_int_equal(live_round_urgency(live), LIVE_URGENT);
	round = live_round_new(live, 9);
	assert_int_equal(live_round_urgency(live), LIVE_CALM); /* it is being looked up */
	name_all(round->profile);
	live_round_end(live, round);
	for (int i = 0; i < 99; i++)
		add(sink, stack_of(sink, "/bin/a", 1, 2), PID, START);
	assert_int_equal(live_round_urgency(live), LIVE_CALM);
	for (int i = 0; i < 4; i++)
		add(sink, stack_of(sink, "/bin/a", i % 2 + 1, 3), PID, START);
	assert_int_equal(live_round_urgency(live), LIVE_CALM); /* 4 of 103, in two stacks */
	add(sink, stack_of(sink, "/bin/a", 1, 3), PID, START);
	assert_int_equal(live_round_urgency(live), LIVE_SOON);
	for (int i = 0; i < 21; i++)
		add(sink, stack_of(sink, "/bin/a", 2, 3), PID, START);
	assert_int_equal(live_round_urgency(live), LIVE_URGENT); /* 26 of 125 */
	round = live_round_new(live, 9);
	assert_int_equal(round->profile->nr_frames, 1);
	live_round_end(live, round);
	add(sink, stack_of(sink, "/bin/a", 1, 4), PID, START);
	assert_int_equal(live_round_urgency(live), LIVE_CALM); /* the first one, and new */
	live_free(live);
}

static void a_limit_of_threads_and_stacks_is_told(void **state)
{
	const struct live_limits few = {
		.threads = 3,
		.stack_frames = 12,
		.entries = 1000,
		.string_bytes = 1000,
	};
	struct live *live = new_live(&few);
	struct sink *sink = live_sink(live);
	struct live_state now;
	struct profile *p;
	uint64_t weight = 0;

	(void)state;
	for (uint32_t i = 0; i < 50; i++)
		add(sink, stack_of(sink, "/bin/a", i, i + 100), 10 + i, START);
	p = live_copy(live, &now);
	assert_true(now.threads_full);
	assert_true(now.stacks_full);
	assert_true(p->nr_threads <= 4);
	for (size_t i = 0; i < p->nr_samples; i++)
		weight += p->samples[i].weight;
	assert_int_equal(weight, 500);
	profile_free(p);
	live_free(live);
}

/* A target whose code is everywhere; the weight of its samples is kept. */
static struct profile *overfill(const struct live_limits *limits, struct live_state *ret_state)
{
	struct live *live = new_live(limits);
	struct sink *sink = live_sink(live);
	struct profile *p;
	uint64_t weight = 0;
	char path[32];

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/bin/%u", i);
		add(sink, stack_of(sink, path, i, i + 100), PID, START);
	}
	p = live_copy(live, ret_state);
	for (size_t i = 0; i < p->nr_samples; i++)
		weight += p->samples[i].weight;
	assert_int_equal(weight, 10000);
	live_free(live);
	return p;
}

static void frames_modules_and_strings_have_limits(void **state)
{
	struct live_limits limits = live_limits_default;
	struct live_state now;
	struct profile *p;

	(void)state;
	limits.entries = 100;
	p = overfill(&limits, &now);
	assert_true(now.stacks_full);
	assert_in_range(p->nr_frames, 10, 101);
	assert_in_range(p->nr_modules, 10, 101);
	assert_in_range(p->nr_strings, 10, 110);
	profile_free(p);
	limits = live_limits_default;
	limits.string_bytes = 500;
	p = overfill(&limits, &now);
	assert_true(now.stacks_full);
	assert_in_range(p->nr_strings, 10, 110);
	profile_free(p);
	p = overfill(&live_limits_default, &now);
	assert_false(now.stacks_full);
	assert_int_equal(p->nr_frames, 2000);
	profile_free(p);
}

static size_t memory_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* The source asks for frames before it asks for a stack of them. */
static void no_memory_is_taken_for_stacks_without_room(void **state)
{
	struct live_limits limits = live_limits_default;
	struct live *live;
	struct sink *sink;
	size_t before;

	(void)state;
	limits.stack_frames = 12;
	live = new_live(&limits);
	sink = live_sink(live);
	for (uint32_t i = 0; i < 10; i++)
		stack_of(sink, "/bin/a", 2 * i, 2 * i + 1);
	before = memory_in_use();
	for (uint32_t i = 10; i < 100000; i++)
		stack_of(sink, "/bin/a", 2 * i, 2 * i + 1);
	assert_in_range(memory_in_use(), 0, before + 1000);
	live_free(live);
}

static void a_row_opens_into_its_callees_and_callers(void **state)
{
	struct live_question question = { .by = dimension_table, .detail = DETAIL_CALLERS };
	char name[] = "f2";
	struct live *live = new_live(&live_limits_default);
	struct sink *sink = live_sink(live);
	struct live_answer *a;
	struct live_state now;
	struct live_round *round;

	(void)state;
	add(sink, stack_of(sink, "/bin/a", 1, 2), PID, START);
	add(sink, stack_of(sink, "/bin/a", 1, 22), PID, START);
	round = live_round_new(live, 9);
	name_all(round->profile);
	live_round_end(live, round);
	question.detail_name = name;
	a = live_answer_new(&question, live_copy(live, &now), &now);
	assert_int_equal(tree_total(a->detail.tree, &a->detail.tree->nodes[0]),
			 10); /* f22 is another function */
	assert_string_equal(tree_function_of(a->detail.tree, 1)->name, "f2");
	assert_string_equal(tree_function_of(a->detail.tree, 2)->name, "f1");
	live_answer_free(a);
	live_free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_holds_what_is_in_the_window),
		cmocka_unit_test(own_samples_are_left_out),
		cmocka_unit_test(frames_get_their_names_in_rounds),
		cmocka_unit_test(a_round_is_as_urgent_as_many_samples_wait_for_it),
		cmocka_unit_test(a_limit_of_threads_and_stacks_is_told),
		cmocka_unit_test(frames_modules_and_strings_have_limits),
		cmocka_unit_test(no_memory_is_taken_for_stacks_without_room),
		cmocka_unit_test(a_row_opens_into_its_callees_and_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
