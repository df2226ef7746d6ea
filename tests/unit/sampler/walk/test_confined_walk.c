/*
 * Copied stacks are walked in a child without rights as this process would walk them. A child that
 * dies, hangs or lies costs the stack that it was asked for.
 */
// BUILD: -Wl,--wrap=sandbox_start
#include "tests/unit/unit.h"
#include "tests/unit/child.h"
#include "tests/unit/stand_in.h"
#include "tests/unit/stopped_target.h"
#include "tests/unit/traced.h"

#include "core/portable/frames.h"
#include "core/sandbox/message.h"
#include "sampler/walk/confined/confined_walk.h"

#define MAX_FRAMES 512

static const struct snapshot_ops ops = { .find_mapping = traced_find_mapping,
					 .open_module = traced_open_module };
static struct traced traced;
static struct sandbox *sandbox;
static uint64_t here[MAX_FRAMES], there[MAX_FRAMES];

static int set_up(void **state)
{
	(void)state;
	stand_in.job = NULL;
	stand_in.nr_started = 0;
	return sandbox_new(&sandbox);
}

static int tear_down(void **state)
{
	(void)state;
	sandbox_free(sandbox);
	traced_end(&traced);
	memset(&traced, 0, sizeof(traced)); /* the next test may be skipped */
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

static void expect_same(const struct snapshot_result *a, const struct snapshot_result *b)
{
	assert_int_equal(a->nr, b->nr);
	assert_int_equal(a->gap, b->gap);
	assert_int_equal(a->marker, b->marker);
	assert_memory_equal(here, there, a->nr * sizeof(*here));
	assert_int_equal(!a->sps, !b->sps);
	if (a->sps)
		assert_memory_equal(a->sps, b->sps, a->nr * sizeof(*a->sps));
}

static void compare(const char *target, size_t max)
{
	struct confined_walk *own = confined_walk_new(&ops, &traced, NULL);
	struct confined_walk *confined = confined_walk_new(&ops, &traced, sandbox);
	struct snapshot_sample sample = stop_target(&traced, target, NULL);

	for (int i = 0; i < 3; i++) {
		struct snapshot_result a = confined_walk_run(own, &sample, here, max);
		struct snapshot_result b = confined_walk_run(confined, &sample, there, max);

		assert_int_equal(confined_walk_error(confined), 0);
		assert_in_range(a.nr, 3, max);
		expect_same(&a, &b);
		sample.space += i; /* the child asks for the mappings again */
	}
	assert_int_equal(stand_in.nr_started, 1);
	confined_walk_free(own);
	confined_walk_free(confined);
}

static void a_child_walks_as_this_process_does(void **state)
{
	(void)state;
	compare("deep32_nofp", MAX_FRAMES);
}

static void a_child_evaluates_dwarf_expressions(void **state)
{
	(void)state;
	compare("expression", MAX_FRAMES);
}

static void a_stack_that_is_too_deep_has_its_gap(void **state)
{
	(void)state;
	compare("deep32_nofp", 16);
}

static void expect_leaf(const struct snapshot_result *r, const struct snapshot_sample *sample)
{
	assert_int_equal(r->nr, 1);
	assert_int_equal(r->gap, 0);
	assert_int_equal(r->marker, MARKER_PARSER_FAILED);
	assert_int_equal(there[0], sample->regs.pc | FRAME_EXACT);
	assert_int_equal(r->sps[0], sample->regs.sp);
}

static void a_child_that_dies_costs_one_stack(void **state)
{
	struct confined_walk *walk = confined_walk_new(&ops, &traced, sandbox);
	pid_t starter = child_of(getpid()), child;
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	struct snapshot_result r = confined_walk_run(walk, &sample, there, MAX_FRAMES);

	(void)state;
	assert_int_equal(r.marker, -1);
	child = child_of(starter);
	assert_true(child > 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	r = confined_walk_run(walk, &sample, there, MAX_FRAMES);
	expect_leaf(&r, &sample);
	assert_int_equal(confined_walk_error(walk), -ECHILD);
	r = confined_walk_run(walk, &sample, there, MAX_FRAMES);
	assert_int_equal(r.marker, -1);
	assert_int_equal(confined_walk_error(walk), 0);
	confined_walk_free(walk);
}

static void children_that_always_die_are_given_up(void **state)
{
	pid_t starter = child_of(getpid());
	siginfo_t ended;
	struct confined_walk *walk = confined_walk_new(&ops, &traced, sandbox);
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	struct snapshot_result r;

	(void)state;
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)starter, &ended, WEXITED | WNOWAIT), 0);
	for (int i = 0; i < 10; i++) {
		r = confined_walk_run(walk, &sample, there, MAX_FRAMES);
		expect_leaf(&r, &sample);
		assert_int_equal(confined_walk_error(walk), -ECHILD);
	}
	assert_int_equal(stand_in.nr_started, 3);
	confined_walk_free(walk);
}

static void send_word(int socket, enum walk_word_kind kind, uint64_t key)
{
	const struct walk_word word = { .kind = kind, .key = key };

	message_send(socket, &word, sizeof(word), NULL, 0);
}

/* A module of which the recorder never told. */
static void asks_for_any_module(int socket)
{
	uint64_t answer[16];

	skip_order(socket);
	send_word(socket, WALK_WANTS_FILE, 1ull << 40);
	message_receive(socket, answer, sizeof(answer), NULL, 0);
}

/* The file of the leaf's mapping, twice. */
static void asks_twice(int socket)
{
	uint64_t answer[16];

	skip_order(socket);
	send_word(socket, WALK_WANTS_MAPPING, traced.regs.pc);
	message_receive(socket, answer, sizeof(answer), NULL, 0);
	for (int i = 0; i < 2; i++) {
		send_word(socket, WALK_WANTS_FILE, 1);
		message_receive(socket, answer, sizeof(answer), NULL, 0);
	}
}

static void never_stops_asking(int socket)
{
	uint64_t answer[16];

	skip_order(socket);
	do {
		send_word(socket, WALK_WANTS_MAPPING, 0);
	} while (message_receive(socket, answer, sizeof(answer), NULL, 0) > 0);
}

static void says_a_word_that_does_not_exist(int socket)
{
	skip_order(socket);
	send_word(socket, (enum walk_word_kind)7, 0);
}

static void says_half_a_word(int socket)
{
	skip_order(socket);
	message_send(socket, "half", 4, NULL, 0);
}

static void is_silent(int socket)
{
	char byte;

	skip_order(socket);
	message_receive(socket, &byte, sizeof(byte), NULL, 0); /* until nothing waits any more */
}

static void a_child_that_lies_costs_one_stack(void **state)
{
	sandbox_job *const liars[] = { asks_for_any_module, asks_twice, never_stops_asking,
				       says_a_word_that_does_not_exist, says_half_a_word };
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(liars) / sizeof(*liars); i++) {
		struct confined_walk *walk = confined_walk_new(&ops, &traced, sandbox);
		struct snapshot_result r;

		stand_in.job = liars[i];
		r = confined_walk_run(walk, &sample, there, MAX_FRAMES);
		expect_leaf(&r, &sample);
		assert_int_equal(confined_walk_error(walk), -EBADMSG);
		stand_in.job = NULL;
		r = confined_walk_run(walk, &sample, there, MAX_FRAMES);
		assert_int_equal(r.marker, -1);
		confined_walk_free(walk);
	}
}

static void a_child_that_is_silent_is_not_waited_for(void **state)
{
	struct confined_walk *walk;
	struct snapshot_sample sample;
	struct snapshot_result r;

	only_in_check_all();
	assert_int_equal(set_up(state), 0);
	walk = confined_walk_new(&ops, &traced, sandbox);
	sample = stop_target(&traced, "deep32_nofp", NULL);
	stand_in.job = is_silent;
	r = confined_walk_run(walk, &sample, there, MAX_FRAMES);
	expect_leaf(&r, &sample);
	assert_int_equal(confined_walk_error(walk), -ETIMEDOUT);
	confined_walk_free(walk);
	tear_down(state);
}

static void a_walked_stack_that_makes_no_sense_is_refused(void **state)
{
	struct {
		struct walk_word word;
		uint64_t words[8];
	} m = { .word = { .kind = WALK_DONE, .marker = -1, .nr = 3 },
		.words = { 1, 2, 3, 11, 12, 13 } };
	const size_t size = sizeof(m.word) + 6 * 8;
	uint64_t frames[4], sps[4];
	struct snapshot_result r;

	(void)state;
	assert_int_equal(walk_word_take(&m, size, 4, frames, sps, &r), 0);
	assert_int_equal(r.nr, 3);
	assert_int_equal(frames[2], 3);
	assert_ptr_equal(r.sps, sps);
	assert_int_equal(sps[0], 11);
	for (size_t n = 0; n < size; n++)
		assert_int_equal(walk_word_take(&m, n, 4, frames, sps, &r), -EBADMSG);
	assert_int_equal(walk_word_take(&m, size, 2, frames, sps, &r), -EBADMSG);
	m.word.gap = 4;
	assert_int_equal(walk_word_take(&m, sizeof(m.word) + 3 * 8, 4, frames, sps, &r), -EBADMSG);
	m.word.gap = 2;
	assert_int_equal(walk_word_take(&m, sizeof(m.word) + 3 * 8, 4, frames, sps, &r), 0);
	assert_null(r.sps);
	m.word.gap = 0;
	m.word.marker = -2;
	assert_int_equal(walk_word_take(&m, size, 4, frames, sps, &r), -EBADMSG);
	m.word.marker = MARKER_REPEATED;
	assert_int_equal(walk_word_take(&m, size, 4, frames, sps, &r), -EBADMSG);
	m.word.marker = -1;
	m.word.nr = 1ull << 61;
	assert_int_equal(walk_word_take(&m, sizeof(m.word), 4, frames, sps, &r), -EBADMSG);
	m.word.nr = 0;
	assert_int_equal(walk_word_take(&m, sizeof(m.word), 4, frames, sps, &r), -EBADMSG);
}

#define WITH_CHILDREN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CHILDREN(a_child_walks_as_this_process_does),
		WITH_CHILDREN(a_child_evaluates_dwarf_expressions),
		WITH_CHILDREN(a_stack_that_is_too_deep_has_its_gap),
		WITH_CHILDREN(a_child_that_dies_costs_one_stack),
		WITH_CHILDREN(children_that_always_die_are_given_up),
		WITH_CHILDREN(a_child_that_lies_costs_one_stack),
		cmocka_unit_test(a_child_that_is_silent_is_not_waited_for),
		cmocka_unit_test(a_walked_stack_that_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
