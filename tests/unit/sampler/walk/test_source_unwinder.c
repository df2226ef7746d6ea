/*
 * A recording source unwinds copied stacks without libunwind in its own process, as well as with
 * it. A file that ends its reader costs the rest of the stack, and is not asked about again.
 */
// BUILD: -Wl,--wrap=sandbox_start -Wl,--wrap=libunwind_walk_new -Wl,--wrap=clock_gettime
#include "tests/unit/unit.h"
#include "tests/unit/stand_in.h"
#include "tests/unit/stopped_target.h"
#include "tests/unit/traced.h"

#include "core/portable/frames.h"
#include "core/sandbox/confined_headers.h"
#include "core/sandbox/message.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/confined/confined_turns.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/confined/walk_questions.h"
#include "sampler/walk/libunwind_walk.h"

#define MAX_FRAMES 512

struct libunwind_walk *__real_libunwind_walk_new(struct libunwind_modules *modules);
struct libunwind_walk *__wrap_libunwind_walk_new(struct libunwind_modules *modules);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static struct traced traced;
static struct sandbox *sandbox;
static uint64_t here[MAX_FRAMES], there[MAX_FRAMES];
static unsigned int nr_libunwind_here;
static time_t skipped_s; /* that the clock is ahead */

/* What the source has read of the files. */
static struct code_headers headers[TRACED_MAX_MODULES];
static struct unwind_table *tables[TRACED_MAX_MODULES];
static struct rule_set *rules;
static uint64_t pending; /* the module without a table; UINT64_MAX: none has one */

/* Children count in their own memory. */
struct libunwind_walk *__wrap_libunwind_walk_new(struct libunwind_modules *modules)
{
	nr_libunwind_here++;
	return __real_libunwind_walk_new(modules);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int err = __real_clock_gettime(clock, time);

	if (!err && clock == CLOCK_MONOTONIC)
		time->tv_sec += skipped_s;
	return err;
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	struct code_headers *h = &headers[module - 1];

	if (!traced_open_module(context, module, ret))
		return false;
	if (!ret->memory && !h->segments)
		assert_int_equal(code_headers_read(NULL, 0, ret->fd, h), 0);
	ret->segments = h->segments;
	ret->nr_segments = h->nr_segments;
	return true;
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	struct unwind_table **table = &tables[module - 1];
	struct snapshot_file file;
	uint32_t nr;

	if (pending == UINT64_MAX || module == pending)
		return false;
	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	assert_true(traced_open_module(context, module, &file));
	if (!*table && !file.memory)
		assert_int_equal(unwind_table_build(file.fd, NULL, rules, table), 0);
	if (*table)
		*ret = rule_set_rules(rules, &nr)[unwind_table_find(*table, vaddr)];
	return true;
}

static const struct snapshot_ops ops = { .find_mapping = traced_find_mapping,
					 .open_module = open_module,
					 .find_rule = find_rule };

static int set_up(void **state)
{
	(void)state;
	stand_in.job = NULL;
	stand_in.nr_started = nr_libunwind_here = 0;
	pending = 0;
	rules = rule_set_new();
	return sandbox_new(&sandbox);
}

static int tear_down(void **state)
{
	(void)state;
	sandbox_free(sandbox);
	traced_end(&traced);
	memset(&traced, 0, sizeof(traced)); /* the next test may be skipped */
	for (size_t i = 0; i < TRACED_MAX_MODULES; i++) {
		free(headers[i].segments);
		unwind_table_free(tables[i]);
	}
	memset(headers, 0, sizeof(headers));
	memset(tables, 0, sizeof(tables));
	rule_set_free(rules);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

static uint64_t module_of(const struct snapshot_sample *sample)
{
	const struct traced_map *map = traced_find_map(&traced, sample->regs.pc);

	assert_non_null(map);
	return map->module;
}

/* Unwinds in a child and here, which must be the same. Returns the number of frames to the root. */
static size_t compare(const struct snapshot_sample *sample)
{
	struct source_unwinder *own = source_unwinder_new(&ops, &traced, NULL);
	struct source_unwinder *confined;
	struct snapshot_result a, b;

	nr_libunwind_here = stand_in.nr_started = 0;
	confined = source_unwinder_new(&ops, &traced, sandbox);
	for (int i = 0; i < 3; i++) {
		a = source_unwind(own, sample, here, MAX_FRAMES);
		b = source_unwind(confined, sample, there, MAX_FRAMES);
		assert_int_equal(a.nr, b.nr);
		assert_int_equal(a.marker, b.marker);
		assert_memory_equal(here, there, a.nr * sizeof(*here));
		assert_memory_equal(a.sps, b.sps, a.nr * sizeof(*a.sps));
	}
	assert_int_equal(nr_libunwind_here, 0);
	source_unwinder_free(own);
	source_unwinder_free(confined);
	return b.marker == -1 ? b.nr : 0;
}

static void what_the_tables_lack_is_unwound_in_a_child(void **state)
{
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);

	(void)state;
	pending = UINT64_MAX;
	assert_in_range(compare(&sample), 32, 40);
	assert_int_equal(stand_in.nr_started, 1);
	pending = module_of(&sample);
	assert_in_range(compare(&sample), 32, 40);
	assert_int_equal(stand_in.nr_started, 1);
	pending = 0;
	assert_in_range(compare(&sample), 32, 40);
	assert_int_equal(stand_in.nr_started, 0); /* the tables have all */
}

static void a_dwarf_expression_is_evaluated_in_a_child(void **state)
{
	struct snapshot_sample sample = stop_target(&traced, "expression", NULL);

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_true(compare(&sample) >= 3);
		if (stand_in.nr_started)
			return;
		assert_true(traced_run(&traced, 5000));
		assert_true(traced_capture(&traced));
		sample = traced_sample(&traced);
	}
	fail_msg("no sample was in the function whose rule is an expression");
}

/* Is the leaf in code without an FDE? */
static bool leaf_lacks_fde(const struct snapshot_sample *sample)
{
	static const struct snapshot_ops plain = { .find_mapping = traced_find_mapping,
						   .open_module = traced_open_module };
	struct libunwind_modules *modules = libunwind_modules_new(&plain, &traced);
	struct snapshot_place place;
	struct snapshot_fde fde;
	bool lacks = libunwind_modules_find(modules, sample->regs.pc, &place) && place.module &&
		     !libunwind_module_fde(place.module, sample->regs.pc - place.bias, &fde);

	libunwind_modules_free(modules);
	return lacks;
}

static void code_without_rules_in_a_file_without_a_table_is_crossed(void **state)
{
	struct snapshot_sample sample = stop_target(&traced, "nocfi", NULL);
	unsigned int nr_crossed = 0;

	(void)state;
	for (int i = 0; i < 50 && !nr_crossed; i++) {
		pending = module_of(&sample);
		nr_crossed += compare(&sample) && leaf_lacks_fde(&sample);
		assert_true(traced_run(&traced, 5000));
		assert_true(traced_capture(&traced));
		sample = traced_sample(&traced);
	}
	assert_int_equal(nr_crossed, 1);
}

/* A new number for the same file: it is asked about anew, by the same child. */
static void a_module_that_is_forgotten_is_handed_over_again(void **state)
{
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	struct source_unwinder *u = source_unwinder_new(&ops, &traced, sandbox);

	(void)state;
	pending = module_of(&sample);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(source_unwind(u, &sample, there, MAX_FRAMES).marker, -1);
		source_unwinder_forget(u, pending);
	}
	assert_int_equal(stand_in.nr_started, 1);
	source_unwinder_free(u);
}

static bool is_held_up;

/* As if the thread got no CPU for a while. */
static bool find_mapping_late(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	if (is_held_up)
		usleep(150000);
	is_held_up = false;
	return traced_find_mapping(context, address, ret);
}

static void a_walk_that_gets_no_cpu_for_a_while_goes_on(void **state)
{
	struct snapshot_ops late = ops;
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	struct source_unwinder *u;

	(void)state;
	late.find_mapping = find_mapping_late;
	u = source_unwinder_new(&late, &traced, NULL);
	pending = UINT64_MAX;
	is_held_up = true;
	assert_int_equal(source_unwind(u, &sample, there, MAX_FRAMES).marker, -1);
	assert_false(is_held_up);
	source_unwinder_free(u);
}

/* A user can have thousands of them. */
static void children_of_many_users_leave_root_its_own(void **state)
{
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	struct source_unwinder *u = source_unwinder_new(&ops, &traced, sandbox);

	(void)state;
	pending = module_of(&sample);
	for (uint32_t i = 0; i < 3 * TURN_CHILDREN; i++) {
		sample.user = i % 2 ? 1000 + i : 0;
		assert_int_equal(source_unwind(u, &sample, there, MAX_FRAMES).marker, -1);
	}
	assert_int_equal(stand_in.nr_started, 1 + 3 * TURN_CHILDREN / 2);
	source_unwinder_free(u);
}

/* ---- a child that a file has taken over */

static void dies(int socket)
{
	skip_order(socket);
}

static void asks_for_any_module(int socket)
{
	const struct walk_word word = { .kind = WALK_WANTS_FILE, .key = 1ull << 40 };

	skip_order(socket);
	message_send(socket, &word, sizeof(word), NULL, 0);
	skip_order(socket);
}

static void says_half_an_answer(int socket)
{
	const struct walk_word word = { .kind = WALK_DONE };

	skip_order(socket);
	message_send(socket, &word, sizeof(word), NULL, 0);
}

static void is_silent(int socket)
{
	skip_order(socket);
	skip_order(socket);
}

/* Asks and does not read the answers, which fill the socket until the recorder gives up. */
static void never_reads(int socket)
{
	const struct walk_word word = { .kind = WALK_WANTS_MAPPING };

	skip_order(socket);
	for (int i = 0; i < 8000; i++)
		if (message_send(socket, &word, sizeof(word), NULL, 0))
			return;
}

static void expect_cut(const struct snapshot_result *r, const struct snapshot_sample *sample)
{
	assert_int_equal(r->marker, MARKER_PARSER_FAILED);
	assert_int_equal(r->nr, 1);
	assert_int_equal(there[0], sample->regs.pc | FRAME_EXACT);
}

static void a_file_that_ends_its_reader_costs_the_rest_of_its_stacks(void **state)
{
	sandbox_job *const liars[] = { dies, asks_for_any_module, says_half_an_answer, is_silent,
				       never_reads };
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	uint64_t bad = module_of(&sample);

	(void)state;
	for (size_t i = 0; i < sizeof(liars) / sizeof(*liars); i++) {
		struct source_unwinder *u = source_unwinder_new(&ops, &traced, sandbox);
		struct snapshot_result r;

		pending = bad;
		stand_in.job = liars[i];
		stand_in.nr_started = 0;
		for (int round = 0; round < 5; round++) {
			r = source_unwind(u, &sample, there, MAX_FRAMES);
			expect_cut(&r, &sample);
			stand_in.job = NULL;
		}
		assert_int_equal(stand_in.nr_started, 1); /* it is not asked about again, */
		sample.user++;
		r = source_unwind(u, &sample, there, MAX_FRAMES);
		assert_int_equal(r.marker, -1); /* but for another user, */
		sample.user--;
		source_unwinder_forget(u, bad);
		r = source_unwind(u, &sample, there, MAX_FRAMES);
		assert_int_equal(r.marker, -1); /* and once its number is another file's */
		source_unwinder_free(u);
	}
}

/* Where a busy machine gives the child no CPU, it is not the file's fault. */
static void a_file_whose_child_was_late_is_asked_about_again_after_a_time(void **state)
{
	sandbox_job *const liars[] = { is_silent, dies };
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct source_unwinder *u = source_unwinder_new(&ops, &traced, sandbox);
		struct snapshot_result r;

		pending = module_of(&sample);
		stand_in.job = liars[i];
		r = source_unwind(u, &sample, there, MAX_FRAMES);
		expect_cut(&r, &sample);
		stand_in.job = NULL;
		skipped_s += 10; /* the user may take turns again */
		r = source_unwind(u, &sample, there, MAX_FRAMES);
		expect_cut(&r, &sample);
		skipped_s += 3600;
		r = source_unwind(u, &sample, there, MAX_FRAMES);
		assert_int_equal(r.marker, liars[i] == is_silent ? -1 : MARKER_PARSER_FAILED);
		source_unwinder_free(u);
	}
}

static void a_user_whose_files_end_many_readers_is_not_asked_for_for_a_time(void **state)
{
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	struct source_unwinder *u = source_unwinder_new(&ops, &traced, sandbox);
	struct snapshot_result r;

	(void)state;
	pending = module_of(&sample);
	stand_in.job = dies;
	for (int i = 0; i < 100; i++) {
		r = source_unwind(u, &sample, there, MAX_FRAMES);
		expect_cut(&r, &sample);
		source_unwinder_forget(u, pending); /* as if it were new */
	}
	assert_in_range(stand_in.nr_started, 4, 50);
	stand_in.job = NULL;
	sample.user++;
	assert_int_equal(source_unwind(u, &sample, there, MAX_FRAMES).marker, -1);
	source_unwinder_free(u);
}

/* Answers, but late: that the walk ends where it is. */
static void takes_long(int socket)
{
	struct {
		struct walk_word word;
		struct walk_regs regs;
	} answer = { .word = { .kind = WALK_DONE, .marker = WALK_NO_RULE } };
	uint64_t order[256];

	skip_order(socket);
	do {
		usleep(50000);
		message_send(socket, &answer, sizeof(answer), NULL, 0);
	} while (message_receive(socket, order, sizeof(order), NULL, 0) > 0);
}

/* Such a user would hold up the samples of all others. */
static void a_user_whose_turns_take_long_has_half_of_the_time(void **state)
{
	struct snapshot_sample sample = stop_target(&traced, "deep32_nofp", NULL);
	struct source_unwinder *u = source_unwinder_new(&ops, &traced, sandbox);
	unsigned int nr_refused = 0;
	int marker;

	(void)state;
	pending = module_of(&sample);
	stand_in.job = takes_long;
	for (int i = 0; i < 100; i++)
		nr_refused +=
			source_unwind(u, &sample, there, MAX_FRAMES).marker == MARKER_PARSER_FAILED;
	stand_in.job = NULL;
	sample.user++;
	marker = source_unwind(u, &sample, there, MAX_FRAMES).marker;
	source_unwinder_free(u);
	assert_in_range(nr_refused, 20, 99);
	assert_int_equal(marker, -1);
}

static void an_answer_that_makes_no_sense_is_refused(void **state)
{
	struct {
		struct walk_word word;
		struct walk_regs regs;
		uint64_t words[8];
	} m = { .word = { .kind = WALK_DONE, .nr = 3 }, .words = { 1, 2, 3, 11, 12, 13 } };
	const size_t size = sizeof(m.word) + sizeof(m.regs) + 6 * 8;
	const struct snapshot_sample sample = { .regs = { .pc = 7, .exact = 1 } };
	uint64_t frames[4], sps[4];
	struct snapshot_turn turn = { .nr = 2, .frames = frames, .sps = sps, .max = 4 };

	(void)state;
	m.regs.leaf_regs = 9;
	m.regs.exact = 9;
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), 0);
	assert_int_equal(turn.nr_found, 3);
	assert_int_equal(turn.regs.leaf_regs, 0);
	assert_int_equal(turn.regs.exact, 1);
	assert_int_equal(frames[2], 3);
	assert_int_equal(sps[0], 11);
	for (size_t n = 0; n < size; n++)
		assert_int_equal(turn_answer_take(&m, n, &sample, &turn), -EBADMSG);
	turn.max = 2;
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), -EBADMSG);
	turn.max = 4;
	m.word.gap = 1; /* from the leaf, which is another one */
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), -EBADMSG);
	m.words[0] = 7 | FRAME_EXACT;
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), 0);
	turn.nr = 3; /* no more than there were */
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), -EBADMSG);
	m.word.gap = 2;
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), -EBADMSG);
	m.word.gap = 0;
	m.word.marker = -1;
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), -EBADMSG);
	m.word.marker = WALK_TOO_LONG + 1;
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), -EBADMSG);
	m.word.marker = WALK_NO_RULE;
	m.word.nr = 1ull << 61;
	assert_int_equal(turn_answer_take(&m, size, &sample, &turn), -EBADMSG);
}

#define WITH_CHILDREN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CHILDREN(what_the_tables_lack_is_unwound_in_a_child),
		WITH_CHILDREN(a_dwarf_expression_is_evaluated_in_a_child),
		WITH_CHILDREN(code_without_rules_in_a_file_without_a_table_is_crossed),
		WITH_CHILDREN(a_module_that_is_forgotten_is_handed_over_again),
		WITH_CHILDREN(a_walk_that_gets_no_cpu_for_a_while_goes_on),
		WITH_CHILDREN(children_of_many_users_leave_root_its_own),
		WITH_CHILDREN(a_file_that_ends_its_reader_costs_the_rest_of_its_stacks),
		WITH_CHILDREN(a_file_whose_child_was_late_is_asked_about_again_after_a_time),
		WITH_CHILDREN(a_user_whose_files_end_many_readers_is_not_asked_for_for_a_time),
		WITH_CHILDREN(a_user_whose_turns_take_long_has_half_of_the_time),
		cmocka_unit_test(an_answer_that_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
