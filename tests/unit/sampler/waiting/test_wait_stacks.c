/* sampler/waiting/wait_stacks.c: what a waker had waited for itself follows its stack. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/profile/source.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/waiting/wait_stacks.h"

/* A sink that writes stacks as text: frames by number, frames of waits by name. */
#define NAMED 100000u
static char names[32][64];
static char last_stack[4096];
static size_t last_nr;

static uint32_t give_string(struct sink *sink, const char *s, size_t length)
{
	uint32_t i = 0;

	(void)sink;
	while (i < 31 && names[i][0] && (strncmp(names[i], s, length) || names[i][length]))
		i++;
	snprintf(names[i], sizeof(names[i]), "%.*s", (int)length, s);
	return i;
}

static uint32_t give_module(struct sink *sink, const struct profile_module *module)
{
	(void)sink;
	(void)module;
	return 1;
}

static uint32_t give_frame(struct sink *sink, uint32_t module, uint64_t address)
{
	(void)sink;
	(void)module;
	return NAMED + (uint32_t)address;
}

static uint32_t take_stack(struct sink *sink, const uint32_t *frames, size_t nr)
{
	static uint32_t nr_stacks;
	size_t at = 0;

	(void)sink;
	last_nr = nr;
	last_stack[0] = '\0';
	for (size_t i = 0; i < nr && at < sizeof(last_stack) - 80; i++) {
		const char *semicolon = i ? ";" : "";

		if (frames[i] >= NAMED)
			at += (size_t)sprintf(last_stack + at, "%s%s", semicolon,
					      names[frames[i] - NAMED]);
		else
			at += (size_t)sprintf(last_stack + at, "%s%u", semicolon, frames[i]);
	}
	return nr_stacks++;
}

static struct sink sink = {
	.string = give_string,
	.module = give_module,
	.frame = give_frame,
	.stack = take_stack,
};
static struct profile_stats stats;
static struct sample_sink out;
static struct wait_stacks *stacks;

static int set_up(void **state)
{
	(void)state;
	sample_sink_init(&out, &stats);
	out.sink = &sink;
	stacks = wait_stacks_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	wait_stacks_free(stacks);
	sample_sink_fini(&out);
	return 0;
}

static void keep(uint64_t key, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t frames[] = { a, b, c };
	const struct wait_stack s = { .frames = frames, .nr = 3 };

	assert_true(wait_stacks_add(stacks, key, &s));
}

/* A wait of `tid` from from_ns to to_ns, which `waker` ended. Returns its joined stack as text. */
static const char *end_wait(uint32_t tid, uint64_t key, uint64_t from_ns, uint64_t to_ns,
			    uint32_t waker, const char *name, uint64_t waker_key)
{
	struct wait_top top = {
		.waker = name,
		.waker_key = waker_key,
		.stack = wait_stacks_find(stacks, waker_key),
		.before = waker ? wait_stacks_last(stacks, waker, from_ns, to_ns) : NULL,
	};
	struct wait_link link;

	strcpy(last_stack, "known");
	wait_stacks_join(stacks, &out, key, wait_stacks_find(stacks, key), &top, &link);
	wait_stacks_ended(stacks, tid, to_ns, &link, top.before);
	return last_stack;
}

enum { A = 11, B = 12, C = 13 };
/* Keys: of waits, and of the stacks from which threads woke others. */
enum { WAIT_A = 1, WAIT_B, WAIT_C, WAKE_B, WAKE_C, TIMER };

static void keep_stacks(void)
{
	keep(WAIT_A, 10, 11, 19);
	keep(WAIT_B, 20, 21, 29);
	keep(WAKE_B, 20, 22, 23);
	keep(WAIT_C, 30, 31, 39);
	keep(WAKE_C, 30, 32, 33);
	keep(TIMER, 90, 91, 92);
}

static void a_chain_has_the_wakers_own_waits(void **state)
{
	(void)state;
	keep_stacks();
	assert_string_equal(end_wait(C, WAIT_C, 100, 200, 0, "an interrupt", TIMER),
			    "30;31;39;woken by an interrupt;92;91;90");
	assert_string_equal(end_wait(B, WAIT_B, 110, 210, C, "c", WAKE_C),
			    "20;21;29;woken by c;33;32;30;waited before;31;39;woken by an "
			    "interrupt;92;91;90");
	assert_string_equal(end_wait(A, WAIT_A, 105, 220, B, "b", WAKE_B),
			    "10;11;19;woken by b;23;22;20;waited before;21;29;woken by c;33;32;30;"
			    "waited before;31;39;woken by an interrupt;92;91;90");
	/* A second one is the same stack. */
	end_wait(C, WAIT_C, 300, 400, 0, "an interrupt", TIMER);
	end_wait(B, WAIT_B, 310, 410, C, "c", WAKE_C);
	assert_string_equal(end_wait(A, WAIT_A, 305, 420, B, "b", WAKE_B), "known");
}

static void waits_that_the_waiter_did_not_wait_for_are_left_out(void **state)
{
	(void)state;
	keep_stacks();
	end_wait(B, WAIT_B, 100, 200, 0, "an interrupt", TIMER);
	/* It began after that wait was ended. */
	assert_string_equal(end_wait(A, WAIT_A, 201, 300, B, "b", WAKE_B),
			    "10;11;19;woken by b;23;22;20");
	/* And another ended before that wait was. */
	assert_string_equal(end_wait(C, WAIT_C, 50, 150, B, "b", WAKE_B),
			    "30;31;39;woken by b;23;22;20");
}

static void a_wait_after_the_waking_does_not_hide_the_one_before(void **state)
{
	(void)state;
	keep_stacks();
	end_wait(B, WAIT_B, 100, 200, 0, "an interrupt", TIMER);
	end_wait(B, WAIT_B, 220, 230, 0, "an interrupt", TIMER);
	assert_string_equal(end_wait(A, WAIT_A, 150, 210, B, "b", WAKE_B),
			    "10;11;19;woken by b;23;22;20;waited before;21;29;woken by an "
			    "interrupt;92;91;90");
}

static void a_chain_ends_where_a_stack_is_not_known(void **state)
{
	(void)state;
	keep_stacks();
	end_wait(C, WAIT_C, 100, 200, 0, "an interrupt", TIMER);
	end_wait(B, WAIT_B, 110, 210, C, "c", WAKE_C);
	assert_string_equal(end_wait(A, WAIT_A, 105, 220, B, "b", 777), "10;11;19;woken by b");
	wait_stacks_turn(stacks, true);
	keep(WAIT_A, 10, 11, 19);
	keep(WAKE_B, 20, 22, 23);
	assert_string_equal(end_wait(A, WAIT_A, 105, 220, B, "b", WAKE_B),
			    "10;11;19;woken by b;23;22;20");
}

static void chains_are_bounded(void **state)
{
	size_t nr = 0;

	(void)state;
	keep_stacks();
	/* Each thread waits for the one before it. */
	for (uint32_t i = 0; i < 40; i++)
		end_wait(1000 + i, WAIT_B, 100, 200 + i, i ? 999 + i : 0, i ? "b" : "x", WAKE_B);
	end_wait(A, WAIT_A, 100, 300, 1039, "b", WAKE_B);
	for (const char *s = last_stack; (s = strstr(s, "waited before")); s++)
		nr++;
	assert_int_equal(nr, MAX_WAIT_LINKS);
	/* Deep stacks fill the room before. */
	for (uint64_t key = 100; key < 102; key++) {
		static uint32_t frames[SINK_MAX_FRAMES - 1];
		const struct wait_stack s = { .frames = frames, .nr = SINK_MAX_FRAMES - 1 };

		frames[0] = (uint32_t)key;
		assert_true(wait_stacks_add(stacks, key, &s));
	}
	end_wait(B, 100, 400, 500, C, "c", 101);
	end_wait(A, 100, 400, 600, B, "b", 101);
	assert_in_range(last_nr, 2 * (SINK_MAX_FRAMES - 1) + 1, 2 * SINK_MAX_FRAMES + 2);
}

static void many_threads_take_no_more_room(void **state)
{
	(void)state;
	keep_stacks();
	for (uint32_t tid = 1; tid <= 200000; tid++)
		end_wait(tid, WAIT_B, 100, 200 + tid, 0, "an interrupt", TIMER);
	assert_null(wait_stacks_last(stacks, 1, 100, 1000));
	assert_non_null(wait_stacks_last(stacks, 200000, 100, 1000000));
	assert_null(wait_stacks_last(stacks, 0, 0, 1000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_chain_has_the_wakers_own_waits, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(waits_that_the_waiter_did_not_wait_for_are_left_out,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_wait_after_the_waking_does_not_hide_the_one_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_chain_ends_where_a_stack_is_not_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(chains_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_threads_take_no_more_room, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
