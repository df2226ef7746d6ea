/*
 * sampler/sink/sample_sink.c: a walked stack becomes frames and markers in their order, root first.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/portable/frames.h"
#include "core/profile/source.h"
#include "core/profile/profile.h"
#include "core/profile/markers.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/target/process.h"

#define CODE 0x10000 /* frames are return addresses behind it */
#define NR_WORDS (MAX_USER_FRAMES + MAX_JOINED_FRAMES)

struct fixture {
	struct profile *profile;
	struct profile_stats stats;
	struct sample_sink out;
	struct mapped_file code;
	struct process process;
	uint64_t words[NR_WORDS];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->profile = profile_new();
	sample_sink_init(&f->out, &f->stats);
	f->out.sink = profile_sink_new(f->profile);
	f->code.kind = MODULE_JIT;
	f->code.path = strdup("[jit]");
	f->code.sink_id = PROFILE_NONE;
	process_map(&f->process, &(struct mapping){
					 .start = CODE,
					 .end = CODE + 0x100000,
					 .code = &f->code,
				 });
	/* all different, leaf first */
	for (uint64_t i = 0; i < NR_WORDS; i++)
		f->words[i] = CODE + i + 1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_fini(&f->process);
	profile_sink_free(f->out.sink);
	sample_sink_fini(&f->out);
	profile_free(f->profile);
	free((char *)f->code.path);
	free(f);
	return 0;
}

/* The stack as numbers, root first: i for words[i], -1 - address for a marker. */
static size_t numbers_of(struct fixture *f, const struct walked *w, int64_t *numbers,
			 int *incomplete)
{
	struct known_stack known = sample_sink_stack(&f->out, &f->process, w);
	const struct profile *p = f->profile;
	const struct profile_stack *s = &p->stacks[known.stack];

	*incomplete = known.incomplete - 1;
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		const struct profile_frame *frame = &p->frames[p->stack_frames[s->first_frame + i]];

		numbers[i] = p->modules[frame->module].kind == MODULE_MARKER
				     ? -1 - (int64_t)frame->address
				     : (int64_t)frame->address - CODE;
	}
	return s->nr_frames;
}

static void a_stack_is_root_first(void **state)
{
	struct fixture *f = *state;
	struct walked w = { .user = f->words, .nr_user = 3, .marker = -1 };
	int64_t numbers[8];
	int incomplete;

	assert_int_equal(numbers_of(f, &w, numbers, &incomplete), 3);
	assert_int_equal(incomplete, -1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(numbers[i], 2 - i);
}

static void the_end_of_a_walk_is_marked_at_the_root(void **state)
{
	struct fixture *f = *state;
	struct walked w = { .user = f->words, .nr_user = 2, .marker = MARKER_TOO_LONG };
	int64_t numbers[8];
	int incomplete;

	assert_int_equal(numbers_of(f, &w, numbers, &incomplete), 3);
	assert_int_equal(incomplete, MARKER_TOO_LONG);
	assert_int_equal(numbers[0], -1 - MARKER_TOO_LONG);
	assert_int_equal(numbers[1], 1);
}

/* The leaf may lie in a mapping that is not known yet either: the reason stands for both. */
static void a_stack_of_before_the_tables_says_so_once(void **state)
{
	struct fixture *f = *state;
	uint64_t nowhere = 8;
	struct walked w = { .user = &nowhere, .nr_user = 1, .marker = walk_marker(END_NO_TABLE) };
	int64_t numbers[8];
	int incomplete;

	assert_int_equal(numbers_of(f, &w, numbers, &incomplete), 1);
	assert_int_equal(incomplete, MARKER_NO_TABLE);
	assert_int_equal(numbers[0], -1 - MARKER_NO_TABLE);
	assert_int_equal(walk_marker(END_PENDING), MARKER_NO_TABLE);
}

static void a_joined_root_end_is_below_the_marker(void **state)
{
	struct fixture *f = *state;
	struct walked w = {
		.user = f->words,
		.nr_user = 2,
		.nr_joined = 3,
		.marker = MARKER_LEFT_OUT,
	};
	static const int64_t expected[] = { 4, 3, 2, -1 - MARKER_LEFT_OUT, 1, 0 };
	int64_t numbers[8];
	int incomplete;

	assert_int_equal(numbers_of(f, &w, numbers, &incomplete), 6);
	assert_int_equal(incomplete, MARKER_LEFT_OUT);
	assert_memory_equal(numbers, expected, sizeof(expected));
}

static void the_deepest_stack_with_all_its_parts_is_whole(void **state)
{
	struct fixture *f = *state;
	struct walked w = {
		.user = f->words,
		.nr_user = MAX_USER_FRAMES,
		.gap = MAX_LEAF_FRAMES,
		.rotation = 5,
		.nr_joined = MAX_JOINED_FRAMES,
		.marker = MARKER_LEFT_OUT,
	};
	static int64_t numbers[NR_WORDS + 2];
	size_t at = MAX_JOINED_FRAMES;
	int incomplete;

	assert_int_equal(numbers_of(f, &w, numbers, &incomplete), NR_WORDS + 2);
	assert_int_equal(incomplete, MARKER_LEFT_OUT);
	assert_int_equal(numbers[0], NR_WORDS - 1);
	assert_int_equal(numbers[at++], -1 - MARKER_LEFT_OUT);
	/* the ring's oldest frame is at its place 5 */
	assert_int_equal(numbers[at], MAX_LEAF_FRAMES + 4);
	assert_int_equal(numbers[at + MAX_ROOT_FRAMES - 1], MAX_LEAF_FRAMES + 5);
	at += MAX_ROOT_FRAMES;
	assert_int_equal(numbers[at++], -1 - MARKER_TOO_DEEP);
	assert_int_equal(numbers[at], MAX_LEAF_FRAMES - 1);
	assert_int_equal(numbers[NR_WORDS + 1], 0);
}

static void repeated_frames_of_a_deep_stack_are_counted(void **state)
{
	struct fixture *f = *state;
	struct walked w = { .user = f->words, .nr_user = 602, .marker = -1 };
	static int64_t numbers[NR_WORDS];
	int incomplete;

	/* from the leaf: 0, 300 times the words of 7 and 8, 601 */
	for (size_t i = 1; i < 601; i++)
		f->words[i] = CODE + 1 + 7 + i % 2;
	assert_int_equal(numbers_of(f, &w, numbers, &incomplete), 5);
	assert_int_equal(incomplete, -1);
	assert_int_equal(numbers[0], 601);
	assert_int_equal(numbers[1], 7);
	assert_int_equal(numbers[2], 8);
	assert_int_equal(numbers[3], -1 - (int64_t)repeat_marker(2, 299));
	assert_int_equal(numbers[4], 0);
	/* a stack that is not deep is stored as it is */
	w.nr_user = 400;
	assert_int_equal(numbers_of(f, &w, numbers, &incomplete), 400);
}

/* Its samples may still come for a while, and then what is kept of it is forgotten. */
static void a_thread_that_has_ended_is_forgotten_a_while_later(void **state)
{
	static const char comm[COMM_SIZE] = "worker", other[COMM_SIZE] = "other";
	struct fixture *f = *state;
	uint32_t id = sample_sink_thread(&f->out, 10, 11, comm);

	sample_sink_thread(&f->out, 10, 12, comm);
	sample_sink_ended(&f->out, 11);
	sample_sink_ended(&f->out, 12);
	for (uint32_t tid = 0; tid < SINK_MAX_ENDED - 2; tid++)
		sample_sink_ended(&f->out, (pid_t)(100 + tid));
	assert_int_equal(sample_sink_known_thread(&f->out, 10, 11), id);
	sample_sink_thread(&f->out, 20, 12, other); /* its number is used again */
	sample_sink_ended(&f->out, 98);
	sample_sink_ended(&f->out, 99);
	assert_int_equal(sample_sink_known_thread(&f->out, 10, 11), PROFILE_NONE);
	assert_int_not_equal(sample_sink_known_thread(&f->out, 20, 12), PROFILE_NONE);
	assert_int_equal(sample_sink_thread(&f->out, 10, 11, comm), id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_stack_is_root_first),
		TEST(the_end_of_a_walk_is_marked_at_the_root),
		TEST(a_stack_of_before_the_tables_says_so_once),
		TEST(a_joined_root_end_is_below_the_marker),
		TEST(the_deepest_stack_with_all_its_parts_is_whole),
		TEST(repeated_frames_of_a_deep_stack_are_counted),
		TEST(a_thread_that_has_ended_is_forgotten_a_while_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
