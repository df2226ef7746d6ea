/*
 * Callers that are guessed where no rule leads on: on a stack made by hand, in a program whose code
 * is int3 but for the calls that a test puts there.
 */
#include "tests/unit/unit.h"
#include "tests/unit/made_program.h"

#include <stdbool.h>

#include "core/portable/frames.h"
#include "sampler/unwind/x86_64/call_before.h"
#include "sampler/walk/snapshot_unwind.h"

#define STACK 0x7ffc00000000ull
#define NR_WORDS 2048 /* 16 KiB, as the perf source copies */
#define NR_SAMPLES 2000
#define STEPS_MAX 7000u /* of one stack */

/* The functions, 0x100 bytes each, by their rules. */
enum {
	CALLER = 0x100,
	NO_RULE = 0x200,
	ROOT = 0x300,
	OTHER_NO_RULE = 0x400,
	BY_FP = 0x500,
	TINY = 0x600
};

struct program {
	struct made_program made; /* first: the context */
	uint64_t stack[NR_WORDS];
	struct snapshot_sample sample;
	uint64_t frames[NR_WORDS];
	size_t nr_lookups;
};

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	static const struct walk_rule rules[] = {
		[CALLER >> 8] = { .cfa = WALK_CFA_SP, .cfa_off = 24 },
		[NO_RULE >> 8] = { .cfa = WALK_CFA_NONE },
		[ROOT >> 8] = { .cfa = WALK_CFA_END },
		[OTHER_NO_RULE >> 8] = { .cfa = WALK_CFA_NONE },
		[BY_FP >> 8] = { .cfa = WALK_CFA_FP,
				 .cfa_off = 16,
				 .fp = WALK_FP_CFA,
				 .fp_off = -16 },
		[TINY >> 8] = { .cfa = WALK_CFA_SP, .cfa_off = 8 },
	};
	uint64_t offset = vaddr - MAKER_TEXT;
	struct program *p = context;

	(void)module;
	p->nr_lookups++;
	*ret = offset >> 8 < sizeof(rules) / sizeof(*rules) ? rules[offset >> 8]
							    : (struct walk_rule){ 0 };
	return true;
}

static int set_up(void **state)
{
	struct program *p = calloc(1, sizeof(*p));

	maker_init(&p->made.maker);
	p->sample = (struct snapshot_sample){
		.regs = { .pc = MADE_CODE + NO_RULE + 0x50, .sp = STACK, .fp = 1, .exact = 1 },
		.stack = (uint8_t *)p->stack,
		.stack_start = STACK,
		.stack_size = sizeof(p->stack),
		.guess = true,
	};
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct program *p = *state;

	free(p->made.maker.image);
	free(p);
	return 0;
}

/* Puts "call to" into the text; returns its return address. */
static uint64_t call(struct program *p, uint64_t at, uint64_t to)
{
	uint8_t *code = maker_text(&p->made.maker, at);
	int32_t distance = (int32_t)(to - (at + 5));

	*code = 0xe8;
	memcpy(code + 1, &distance, 4);
	return MADE_CODE + at + 5;
}

/* Puts "call *%rax". */
static uint64_t call_indirect(struct program *p, uint64_t at)
{
	memcpy(maker_text(&p->made.maker, at), "\xff\xd0", 2);
	return MADE_CODE + at + 2;
}

static struct snapshot_result unwind(struct program *p)
{
	static const struct snapshot_ops ops = {
		.find_mapping = made_find_mapping,
		.open_module = made_open_module,
		.find_rule = find_rule,
	};
	struct snapshot_unwinder *u = snapshot_unwinder_new(&ops, p);
	struct snapshot_result result;

	p->made.size = maker_finish(&p->made.maker);
	result = snapshot_unwind(u, &p->sample, p->frames, NR_WORDS);
	assert_int_equal(result.marker, MARKER_NO_RULE);
	snapshot_unwinder_free(u);
	return result;
}

static void expect_frames(struct program *p, const uint64_t *want, size_t nr)
{
	struct snapshot_result result = unwind(p);

	assert_int_equal(result.nr, 1);
	assert_int_equal(result.nr_guessed, nr);
	assert_int_equal(p->frames[0], (MADE_CODE + NO_RULE + 0x50) | FRAME_EXACT);
	assert_memory_equal(p->frames + 1, want, nr * sizeof(*want));
}

static void the_caller_is_the_one_that_calls_this_code(void **state)
{
	struct program *p = *state;
	uint64_t want[] = { call(p, CALLER + 0x10, NO_RULE), call(p, ROOT + 0x10, CALLER) };

	p->stack[0] = 17;
	p->stack[1] = MADE_CODE + CALLER + 0x80;    /* follows no call */
	p->stack[2] = call(p, CALLER + 0x20, ROOT); /* calls something else */
	p->stack[4] = want[1];			    /* where [2] would have its caller */
	p->stack[5] = want[0];
	p->stack[8] = want[1];
	expect_frames(p, want, 2);
	p->sample.guess = false;
	expect_frames(p, want, 0);
}

static void a_call_of_an_address_may_be_the_one(void **state)
{
	struct program *p = *state;
	uint64_t want[] = { call_indirect(p, CALLER + 0x10), call(p, ROOT + 0x10, CALLER) };

	p->stack[3] = want[0];
	p->stack[6] = want[1];
	expect_frames(p, want, 2);
}

static void what_does_not_lead_to_the_root_is_no_caller(void **state)
{
	struct program *p = *state;
	uint64_t caller = call(p, CALLER + 0x10, NO_RULE);

	p->stack[3] = caller;
	expect_frames(p, NULL, 0); /* its caller would be 0, which looks like the root */
}

static void a_frame_pointer_of_zero_is_no_root(void **state)
{
	struct program *p = *state;

	p->sample.regs.fp = 0;
	p->sample.regs.exact = 1;
	p->stack[3] = call(p, OTHER_NO_RULE + 0x10, NO_RULE);
	expect_frames(p, NULL, 0);
}

static void a_pushed_frame_pointer_is_found(void **state)
{
	struct program *p = *state;
	uint64_t want[] = { call(p, BY_FP + 0x10, NO_RULE), call(p, ROOT + 0x10, BY_FP) };

	p->stack[2] = STACK + 8 * 20; /* push %rbp at the start of the function */
	p->stack[3] = want[0];
	p->stack[20] = 0;
	p->stack[21] = want[1];
	expect_frames(p, want, 2);
}

static void two_functions_may_lack_rules(void **state)
{
	struct program *p = *state;
	uint64_t want[] = { call(p, CALLER + 0x10, NO_RULE), call(p, OTHER_NO_RULE + 0x10, CALLER),
			    call(p, ROOT + 0x10, OTHER_NO_RULE) };

	p->stack[3] = want[0];
	p->stack[6] = want[1];
	p->stack[10] = want[2];
	expect_frames(p, want, 3);
}

static void the_search_has_an_end(void **state)
{
	struct program *p = *state;
	uint64_t caller = call(p, CALLER + 0x10, NO_RULE), root = call(p, ROOT + 0x10, CALLER);

	p->stack[600] = caller; /* more than 4 KiB above */
	p->stack[603] = root;
	expect_frames(p, NULL, 0);
	for (int i = 0; i < NR_WORDS; i++)
		p->stack[i] = caller; /* each of them calls this code, from itself */
	expect_frames(p, NULL, 0);
}

/*
 * Every word is a return address that may be the caller's, and every walk from one takes all the
 * others for frames.
 */
static struct snapshot_unwinder *hostile(struct program *p)
{
	static const struct snapshot_ops ops = {
		.find_mapping = made_find_mapping,
		.open_module = made_open_module,
		.find_rule = find_rule,
	};
	uint64_t frame = call(p, TINY + 0x10, NO_RULE);

	for (int i = 0; i < NR_WORDS; i++)
		p->stack[i] = frame;
	p->made.size = maker_finish(&p->made.maker);
	return snapshot_unwinder_new(&ops, p);
}

static void a_stack_full_of_callers_takes_few_steps(void **state)
{
	struct program *p = *state;
	struct snapshot_unwinder *u = hostile(p);
	struct snapshot_result result = snapshot_unwind(u, &p->sample, p->frames, NR_WORDS);

	assert_int_equal(result.nr_guessed, 0);
	assert_in_range(p->nr_lookups, 100, STEPS_MAX);
	snapshot_unwinder_free(u);
}

static size_t lookups_of_samples(struct program *p, struct snapshot_unwinder *u, int nr)
{
	size_t before = p->nr_lookups;

	for (int i = 0; i < nr; i++)
		snapshot_unwind(u, &p->sample, p->frames, NR_WORDS);
	return p->nr_lookups - before;
}

static void a_process_with_such_stacks_uses_up_its_own_budget(void **state)
{
	struct program *p = *state;
	struct snapshot_unwinder *u = hostile(p);
	uint64_t refused;

	p->sample.process = 1000;
	lookups_of_samples(p, u, NR_SAMPLES);
	refused = snapshot_unwinder_refused(u);
	assert_in_range(refused, NR_SAMPLES / 2, NR_SAMPLES - 1);
	p->sample.process = 1001;
	assert_in_range(lookups_of_samples(p, u, 1), 100, STEPS_MAX);
	assert_int_equal(snapshot_unwinder_refused(u), refused);
	/* files of other profilers are read without a budget, so that each reading is the same */
	p->sample.process = 0;
	lookups_of_samples(p, u, 200);
	assert_int_equal(snapshot_unwinder_refused(u), refused);
	snapshot_unwinder_free(u);
}

static void a_user_with_many_such_processes_uses_up_the_users_budget(void **state)
{
	struct program *p = *state;
	struct snapshot_unwinder *u = hostile(p);
	uint64_t refused;

	p->sample.user = 1000;
	for (int i = 0; i < NR_SAMPLES; i++) { /* each process makes one sample */
		p->sample.process = (uint32_t)(1 + i);
		lookups_of_samples(p, u, 1);
	}
	refused = snapshot_unwinder_refused(u);
	assert_in_range(refused, NR_SAMPLES / 4, NR_SAMPLES - 1);
	p->sample.user = 1001;
	p->sample.process = NR_SAMPLES + 1;
	assert_in_range(lookups_of_samples(p, u, 1), 100, STEPS_MAX);
	assert_int_equal(snapshot_unwinder_refused(u), refused);
	snapshot_unwinder_free(u);
}

static void calls_are_told_by_their_bytes(void **state)
{
	static const struct {
		uint8_t code[CALL_BEFORE_BYTES];
		enum call_before want;
	} cases[] = {
		{ { 0x90, 0x90, 0x90, 0xe8, 0x10, 0, 0, 0 }, CALL_DIRECT },
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, CALL_INDIRECT }, /* *%rax */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4 }, CALL_INDIRECT }, /* *%r12 */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18 },
		  CALL_INDIRECT },						 /* *24(%rax) */
		{ { 0x90, 0x90, 0xff, 0x15, 0x10, 0x20, 0, 0 }, CALL_INDIRECT }, /* *x(%rip) */
		{ { 0x90, 0x42, 0xff, 0x94, 0xc8, 8, 1, 0 }, CALL_NONE },	 /* cut off */
		{ { 0x42, 0xff, 0x94, 0xc8, 8, 1, 0, 0 }, CALL_INDIRECT }, /* *264(%rax,%r9,8) */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, CALL_NONE }, /* jmp *%rax */
		{ { 0x90, 0x90, 0x90, 0xe9, 0x10, 0, 0, 0 }, CALL_NONE },	   /* jmp */
		{ { 0 }, CALL_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t target = 0;

		assert_int_equal(call_before(cases[i].code, 0x1000, &target), cases[i].want);
		assert_int_equal(target, i ? 0 : 0x1010);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_caller_is_the_one_that_calls_this_code),
		TEST(a_call_of_an_address_may_be_the_one),
		TEST(what_does_not_lead_to_the_root_is_no_caller),
		TEST(a_frame_pointer_of_zero_is_no_root),
		TEST(a_pushed_frame_pointer_is_found),
		TEST(two_functions_may_lack_rules),
		TEST(the_search_has_an_end),
		TEST(a_stack_full_of_callers_takes_few_steps),
		TEST(a_process_with_such_stacks_uses_up_its_own_budget),
		TEST(a_user_with_many_such_processes_uses_up_the_users_budget),
		cmocka_unit_test(calls_are_told_by_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
