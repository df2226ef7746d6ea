/* The libunwind walker on stacks made by hand, in a program whose CFI a test puts together. */
#include "tests/unit/unit.h"
#include "tests/unit/made_program.h"

#include "core/portable/frames.h"
#include "sampler/walk/libunwind_walk.h"

#define STACK 0x7ffc00000000ull
#define NR_WORDS 32
#define RBX 3

/* The functions, 0x100 bytes each. A root's return address is undefined. */
enum {
	LEAF = 0x100, /* CFA rsp + 8 */
	PAD = 0x200,  /* CFA rsp + 32, from PAD_RULE on rsp + 16 */
	ROOT = 0x300,
	OTHER_ROOT = 0x400,
	SAVES = 0x500,	/* CFA rsp + 24, rbx at CFA - 16 */
	BY_RBX = 0x600, /* CFA rbx + 16 */
};
#define PAD_RULE (PAD + 0x50)

struct program {
	struct made_program made; /* first: the context */
	uint64_t stack[NR_WORDS];
	struct snapshot_sample sample;
	struct libunwind_modules *modules;
	struct libunwind_walk *walk;
	uint64_t frames[16], sps[16];
	size_t nr;
};

static const struct snapshot_ops ops = { .find_mapping = made_find_mapping,
					 .open_module = made_open_module };

static int set_up(void **state)
{
	struct program *p = calloc(1, sizeof(*p));
	struct cfi_maker *m = &p->made.maker;

	maker_init(m);
	m->encoding = 0x1b;			  /* relative, 4 bytes, signed */
	maker_cie(m, BYTES(0x0c, 7, 8, 0x90, 1)); /* CFA rsp + 8, return address at CFA - 8 */
	maker_fde(m, LEAF, 0x100, BYTES(0));
	/* DW_CFA_def_cfa_offset 32, advance_loc1 0x50, def_cfa_offset 16 */
	maker_fde(m, PAD, 0x100, BYTES(0x0e, 32, 0x02, 0x50, 0x0e, 16));
	maker_fde(m, ROOT, 0x100, BYTES(0x07, 16)); /* DW_CFA_undefined */
	maker_fde(m, OTHER_ROOT, 0x100, BYTES(0x07, 16));
	maker_fde(m, SAVES, 0x100, BYTES(0x0e, 24, 0x80 | RBX, 2)); /* DW_CFA_offset */
	maker_fde(m, BY_RBX, 0x100, BYTES(0x0c, RBX, 16));
	p->made.size = maker_finish(m);
	p->sample = (struct snapshot_sample){
		.regs = { .sp = STACK, .fp = 1, .exact = 1, .leaf_regs = 1 },
		.stack = (uint8_t *)p->stack,
		.stack_start = STACK,
		.stack_size = sizeof(p->stack),
	};
	p->modules = libunwind_modules_new(&ops, p);
	p->walk = libunwind_walk_new(p->modules);
	assert_non_null(p->walk);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct program *p = *state;

	libunwind_walk_free(p->walk);
	libunwind_modules_free(p->modules);
	free(p->made.maker.image);
	free(p);
	return 0;
}

/* Walks from a text offset, where execution stopped. */
static enum walk_status walk(struct program *p, uint64_t offset)
{
	struct walk_regs regs = p->sample.regs;

	regs.pc = MADE_CODE + offset;
	p->nr = 0;
	return libunwind_walk_run(p->walk, &p->sample, &regs, p->frames, p->sps, 16, &p->nr);
}

/* throw's last instruction returns to a landing pad, which follows a call that never returns. */
static void a_landing_pad_is_returned_to(struct program *p)
{
	memset(p->stack, 0, sizeof(p->stack));
	p->stack[0] = MADE_CODE + PAD_RULE;
	p->stack[4] = MADE_CODE + OTHER_ROOT + 0x10;
	assert_int_equal(walk(p, LEAF + 0x10), WALK_END);
	assert_int_equal(p->nr, 3);
	assert_int_equal(p->frames[1], MADE_CODE + PAD_RULE);
	assert_int_equal(p->sps[1], STACK + 8);
	assert_int_equal(p->frames[2], MADE_CODE + OTHER_ROOT + 0x10);
	assert_int_equal(p->sps[2], STACK + 8 + 32);
}

static void a_landing_pad_is_executed(struct program *p)
{
	memset(p->stack, 0, sizeof(p->stack));
	p->stack[1] = MADE_CODE + ROOT + 0x10;
	assert_int_equal(walk(p, PAD_RULE), WALK_END);
	assert_int_equal(p->nr, 2);
	assert_int_equal(p->frames[0], (MADE_CODE + PAD_RULE) | FRAME_EXACT);
	assert_int_equal(p->frames[1], MADE_CODE + ROOT + 0x10);
	assert_int_equal(p->sps[1], STACK + 16);
}

static void an_address_is_returned_to_and_then_executed(void **state)
{
	a_landing_pad_is_returned_to(*state);
	a_landing_pad_is_executed(*state);
}

static void an_address_is_executed_and_then_returned_to(void **state)
{
	a_landing_pad_is_executed(*state);
	a_landing_pad_is_returned_to(*state);
}

/* rbx is read from the stack, kept by the frames between, and used further up. */
static void a_saved_register_is_known_further_up(void **state)
{
	struct program *p = *state;

	p->sample.regs.gpr[RBX] = 0xbad;
	p->stack[1] = STACK + 64; /* rbx of SAVES' caller */
	p->stack[2] = MADE_CODE + PAD + 0x10;
	p->stack[6] = MADE_CODE + BY_RBX + 0x10;
	p->stack[9] = MADE_CODE + ROOT + 0x10; /* CFA - 8 */
	assert_int_equal(walk(p, SAVES + 0x10), WALK_END);
	assert_int_equal(p->nr, 4);
	assert_int_equal(p->frames[2], MADE_CODE + BY_RBX + 0x10);
	assert_int_equal(p->frames[3], MADE_CODE + ROOT + 0x10);
	assert_int_equal(p->sps[3], STACK + 64 + 16);
}

static void the_leafs_own_register_is_known_further_up(void **state)
{
	struct program *p = *state;

	p->sample.regs.gpr[RBX] = STACK + 64;
	p->stack[0] = MADE_CODE + BY_RBX + 0x10;
	p->stack[9] = MADE_CODE + ROOT + 0x10;
	assert_int_equal(walk(p, LEAF + 0x10), WALK_END);
	assert_int_equal(p->nr, 3);
	assert_int_equal(p->sps[2], STACK + 64 + 16);
}

/* From a stop further up only pc, sp and fp are known. */
static void a_register_that_is_not_known_ends_the_walk(void **state)
{
	struct program *p = *state;

	p->sample.regs.leaf_regs = 0;
	p->sample.regs.gpr[RBX] = STACK + 64;
	p->stack[0] = MADE_CODE + BY_RBX + 0x10;
	p->stack[9] = MADE_CODE + ROOT + 0x10;
	assert_int_not_equal(walk(p, LEAF + 0x10), WALK_END);
	assert_int_equal(p->nr, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_address_is_returned_to_and_then_executed),
		TEST(an_address_is_executed_and_then_returned_to),
		TEST(a_saved_register_is_known_further_up),
		TEST(the_leafs_own_register_is_known_further_up),
		TEST(a_register_that_is_not_known_ends_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
