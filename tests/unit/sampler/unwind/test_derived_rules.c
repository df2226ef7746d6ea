/* Derived rules: small functions with one property each. */
#include "tests/unit/unit.h"
#include "tests/unit/derived_fixture.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/unwind/code/derived_rules.h"
#include "sampler/unwind/unwind_table.h"

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
/* The rules of a text at 0x1000 that begins with a function, whose start is known or guessed. */
static struct derived_rules *find(const uint8_t *bytes, size_t size, bool named)
{
	const struct derived_text text = text_of(bytes, size);
	struct derived_rules *rules = derived_rules_new(&text);

	if (named)
		derived_rules_add_entry(rules, 0);
	derived_rules_find(rules);
	return rules;
}

static void no_rules(const uint8_t *bytes, size_t size, bool named)
{
	struct derived_rules *rules = find(bytes, size, named);
	size_t nr;

	derived_rules_get(rules, &nr);
	assert_int_equal(nr, 0);
	assert_int_equal(derived_rules_nr_functions(rules), 0);
	derived_rules_free(rules);
}

static void pushes_and_pops_are_followed_through_a_loop(void **state)
{
	struct derived_rules *rules =
		find(BYTES(0x53,			    /* 0 push %rbx */
			   0x55,			    /* 1 push %rbp */
			   0x48, 0x81, 0xec, 0x88, 0, 0, 0, /* 2 sub $136, %rsp */
			   0x48, 0x89, 0xfd,		    /* 9 mov %rdi, %rbp */
			   0x48, 0xff, 0xcd,		    /* 12 dec %rbp */
			   0x75, 0xfb,			    /* 15 jnz 12 */
			   0x48, 0x81, 0xc4, 0x88, 0, 0, 0, /* 17 add */
			   0x5d, 0x5b, 0xc3),		    /* 24 pop, pop, ret */
		     true);

	(void)state;
	check(rules, 0, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(rules, 1, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 2, WALK_CFA_SP, 24, WALK_FP_SAME, 0);
	check(rules, 9, WALK_CFA_SP, 160, WALK_FP_SAME, 0);
	check(rules, 12, WALK_CFA_SP, 160, WALK_FP_CFA, -24);
	check(rules, 24, WALK_CFA_SP, 24, WALK_FP_CFA, -24);
	check(rules, 25, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 26, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	assert_int_equal(rule_at(rules, 27).cfa, WALK_CFA_NONE);
	derived_rules_free(rules);
}

static void an_aligned_frame_is_found_by_rbp_or_by_its_slot(void **state)
{
	struct derived_rules *by_rbp = find(BYTES(0x55, 0x48, 0x89, 0xe5, /* push; mov %rsp, %rbp */
						  0x48, 0x83, 0xe4, 0xc0, /* 4 and $-64, %rsp */
						  0x90, 0xc9, 0xc3),	  /* 8 nop, leave, ret */
					    true);
	struct derived_rules *by_slot =
		find(BYTES(0x48, 0x89, 0xe0,		  /* 0 mov %rsp, %rax */
			   0x48, 0x83, 0xe4, 0xe0,	  /* 3 and $-32, %rsp */
			   0x50,			  /* 7 push %rax */
			   0xe8, 1, 0, 0, 0,		  /* 8 call */
			   0x48, 0x8b, 0x24, 0x24, 0xc3), /* 13 mov (%rsp), %rsp; ret */
		     true);

	(void)state;
	check(by_rbp, 4, WALK_CFA_FP, 16, WALK_FP_CFA, -16);
	check(by_rbp, 8, WALK_CFA_FP, 16, WALK_FP_CFA, -16);
	check(by_rbp, 10, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(by_slot, 7, WALK_CFA_REG, 8 << 8, WALK_FP_SAME, 0);
	check(by_slot, 8, WALK_CFA_SP_DEREF, 8 << 16, WALK_FP_SAME, 0);
	check(by_slot, 12, WALK_CFA_SP_DEREF, 8 << 16, WALK_FP_SAME, 0);
	check(by_slot, 17, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	derived_rules_free(by_rbp);
	derived_rules_free(by_slot);
}

/* As in V8: callees pop their arguments, and the ret does not depend on rsp. */
static void what_leaves_by_rbp_is_left_by_rbp(void **state)
{
	struct derived_rules *rules =
		find(BYTES(0x55, 0x48, 0x89, 0xe5,	  /* push; mov %rsp, %rbp */
			   0x50, 0x50,			  /* 4 push %rax, push %rax */
			   0xe8, 5, 0, 0, 0,		  /* 6 call */
			   0x48, 0x89, 0xec, 0x5d, 0xc3), /* 11 mov, pop, ret */
		     true);

	(void)state;
	check(rules, 10, WALK_CFA_FP, 16, WALK_FP_CFA, -16);
	check(rules, 11, WALK_CFA_FP, 16, WALK_FP_CFA, -16);
	check(rules, 15, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	derived_rules_free(rules);
}

static void a_tail_call_is_a_way_out(void **state)
{
	/* push %rbx; pop %rbx; jmp to 0x2000 */
	struct derived_rules *rules = find(BYTES(0x53, 0x5b, 0xe9, 0xf9, 0x0f, 0, 0), true);

	(void)state;
	check(rules, 1, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 2, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	derived_rules_free(rules);
	no_rules(BYTES(0x53, 0xe9, 0xfa, 0x0f, 0, 0), true); /* with something on the stack */
	no_rules(BYTES(0x53, 0x5b, 0xe9, 0xf9, 0x0f, 0, 0), false); /* it may not return */
}

static void what_is_not_certain_has_no_rules(void **state)
{
	(void)state;
	no_rules(BYTES(0x53, 0xc3), true);			   /* push; ret */
	no_rules(BYTES(0x5b, 0x53, 0xc3), true);		   /* into the caller's frame */
	no_rules(BYTES(0xff, 0xe0), false);			   /* guessed, jmp *%rax */
	no_rules(BYTES(0x74, 1, 0x53, 0xc3), true);		   /* two depths at one place */
	no_rules(BYTES(0xe8, 0, 0, 0, 0, 0x58, 0xc3), true);	   /* call 1f; 1: pop %rax */
	no_rules(BYTES(0x48, 0x89, 0x04, 0x24, 0xc3), true);	   /* mov %rax, (%rsp); ret */
	no_rules(BYTES(0x31, 0xed, 0xc3), true);		   /* rbp is lost */
	no_rules(BYTES(0x48, 0x89, 0xfc, 0xc3), true);		   /* mov %rdi, %rsp */
	no_rules(BYTES(0x0f, 0x05, 0xc3), false);		   /* guessed, syscall */
	no_rules(BYTES(0x0f, 0x05, 0x5f, 0xff, 0xd0, 0xc3), true); /* clone: pop of the new stack */
	no_rules(BYTES(0x74, 1, 0xb8, 0xc3, 0, 0, 0, 0xc3), true); /* into an instruction */
	no_rules(BYTES(0xeb, 0xfe), false);			   /* guessed, no way out */
	no_rules(BYTES(0xe8, 1, 0, 0, 0, 0xc3), false);		   /* guessed, and calls */
	no_rules(BYTES(0x48, 0x83, 0xec), true);		   /* cut off */
}

static void code_behind_a_call_that_may_not_return_has_no_rules(void **state)
{
	/*
	 * 0 push; jz 9; call; 8 ret after pop; 9 call, and then another function, which does not
	 * end
	 */
	struct derived_rules *rules =
		find(BYTES(0x53, 0x74, 7, 0xe8, 0, 1, 0, 0, 0x5b, 0xc3, /* 10: */
			   0xe8, 0, 1, 0, 0, 0x53, 0xeb, 0xfe),
		     true);

	(void)state;
	check(rules, 3, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 9, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(rules, 10, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	assert_int_equal(rule_at(rules, 15).cfa, WALK_CFA_NONE);
	derived_rules_free(rules);
}

/* Called functions are sure to be some, so what cannot be followed is only left out. */
static void what_cannot_be_followed_is_left_out(void **state)
{
	/* 0 push %rbx; 1 jz 7; 3 jmp *%rax; 5 two bytes; 7 pop %rbx; 8 ret */
	struct derived_rules *rules =
		find(BYTES(0x53, 0x74, 4, 0xff, 0xe0, 0x53, 0x53, 0x5b, 0xc3), true);

	(void)state;
	check(rules, 3, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	assert_int_equal(rule_at(rules, 5).cfa, WALK_CFA_NONE);
	check(rules, 8, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	derived_rules_free(rules);
}

/* As abort() and its callers in musl. */
static void functions_that_never_return_have_rules(void **state)
{
	static const uint8_t bytes[] = {
		0x53,				    /* 0 push %rbx */
		0x85, 0xff,			    /* 1 test %edi, %edi */
		0x74, 5,			    /* 3 jz 10 */
		0xe8, 6,    0,	  0,	0,	    /* 5 call 16 */
		0xe8, 5,    0,	  0,	0,	    /* 10 call 20 */
		0x55,				    /* 15 another function: push %rbp */
		0x55, 0x5d, 0xf4, 0x90,		    /* 16 push; pop; hlt */
		0x50, 0xe8, 0xf6, 0xff, 0xff, 0xff, /* 20 push %rax; call 16 */
	};
	struct derived_rules *rules = find_from(bytes, sizeof(bytes), ENTRIES(0, 16, 20));

	(void)state;
	check(rules, 5, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 14, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	assert_int_equal(rule_at(rules, 15).cfa, WALK_CFA_NONE);
	check(rules, 17, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 21, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	derived_rules_free(rules);
}

/* As pthread_exit() and the start of threads in musl: only data or lea name the second one. */
static void code_behind_a_call_that_may_not_return_can_be_another_function(void **state)
{
	static const uint8_t bytes[] = {
		0x53, 0xe8, 0,	  1,	0,    0, 0x90, 0x90, /* 0 push %rbx; call outside */
		0x55, 0xff, 0xd0, 0xeb, 0xfc,		     /* 8 push %rbp; call *%rax; jmp */
	};
	const struct derived_text text = text_of(bytes, sizeof(bytes));
	struct derived_rules *rules = derived_rules_new(&text);

	(void)state;
	derived_rules_add_entry(rules, 0);
	derived_rules_add_hint(rules, 8);
	derived_rules_find(rules);
	check(rules, 1, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 8, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(rules, 9, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	derived_rules_free(rules);
}

/* As qsort() of musl hands its comparison on. Only lea names it, and nothing in it returns. */
static void a_jump_through_a_register_alone_is_a_function(void **state)
{
	static const uint8_t bytes[] = {
		0x53, 0x5b, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* 0 push %rbx; pop %rbx; ret */
		0xff, 0xe2, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* 8 jmp *%rdx */
		0xff, 0x22, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* 16 jmp *(%rdx) */
		0x48, 0x83, 0xc0, 0x08, 0xff, 0xe2, 0xcc, 0xcc, /* 24 add $8, %rax; jmp *%rdx */
	};
	const struct derived_text text = text_of(bytes, sizeof(bytes));
	struct derived_rules *rules = derived_rules_new(&text);

	(void)state;
	derived_rules_add_entry(rules, 0);
	for (size_t at = 8; at <= 24; at += 8)
		derived_rules_add_hint(rules, at);
	derived_rules_find(rules);
	check(rules, 8, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	/* as labels of an interpreter may be */
	assert_int_equal(rule_at(rules, 16).cfa, WALK_CFA_NONE);
	assert_int_equal(rule_at(rules, 24).cfa, WALK_CFA_NONE);
	assert_int_equal(rule_at(rules, 28).cfa, WALK_CFA_NONE);
	derived_rules_free(rules);
}

/* A word may be written again by instructions that are not understood; the first one never is. */
static void the_caller_s_rbp_is_where_it_was_saved_first(void **state)
{
	struct derived_rules *rules =
		find(BYTES(0x55,		   /* 0 push %rbp */
			   0x48, 0x83, 0xec, 0x10, /* 1 sub $16, %rsp */
			   0x48, 0x89, 0x2c, 0x24, /* 5 mov %rbp, (%rsp) */
			   0x31, 0xed,		   /* 9 xor %ebp, %ebp */
			   0x0f, 0x11, 0x04, 0x24, /* 11 movups %xmm0, (%rsp) */
			   0x48, 0x83, 0xc4, 0x10, /* 15 add $16, %rsp */
			   0x5d, 0xc3),		   /* 19 pop %rbp; ret */
		     true);

	(void)state;
	check(rules, 11, WALK_CFA_SP, 32, WALK_FP_CFA, -16);
	derived_rules_free(rules);
}

#define TABLE 0x3000u

/* Tables at 0x3000: two entries for offsets 17 and 19 of the text, then one that is no place. */
static bool read_table(void *context, uint64_t vaddr, void *buffer, size_t size)
{
	static const int32_t distances[] = { 0x1011 - TABLE, 0x1013 - TABLE, 0 };
	static const uint64_t addresses[] = { 0x100f, 0x1011, 0 };
	const uint8_t *table = size == 4 ? (const uint8_t *)distances : (const uint8_t *)addresses;

	(void)context;
	if (vaddr < TABLE || vaddr - TABLE + size > 3 * size)
		return false;
	memcpy(buffer, table + (vaddr - TABLE), size);
	return true;
}

static struct derived_rules *find_with_table(const uint8_t *bytes, size_t size)
{
	struct derived_text text = text_of(bytes, size);
	struct derived_rules *rules;

	text.read = read_table;
	rules = derived_rules_new(&text);
	derived_rules_add_entry(rules, 0);
	derived_rules_find(rules);
	return rules;
}

static void jumps_through_tables_are_followed(void **state)
{
	struct derived_rules *relative =
		find_with_table(BYTES(0x53,				  /* 0 push %rbx */
				      0x48, 0x8d, 0x15, 0xf8, 0x1f, 0, 0, /* 1 lea 0x3000, %rdx */
				      0x48, 0x63, 0x04, 0xba,	      /* 8 movslq (%rdx,%rdi,4) */
				      0x48, 0x01, 0xd0,		      /* 12 add %rdx, %rax */
				      0xff, 0xe0,		      /* 15 jmp *%rax */
				      0x5b, 0xc3, 0x5b, 0x90, 0xc3)); /* 17 19 pop; ret */
	struct derived_rules *absolute =
		find_with_table(BYTES(0x53, 0x83, 0xff, 1,	       /* 0 push; 1 cmp $1, %edi */
				      0x77, 0x09,		       /* 4 ja 15 */
				      0xff, 0x24, 0xfd, 0, 0x30, 0, 0, /* 6 jmp *0x3000(,%rdi,8) */
				      0xcc, 0xcc,		       /* 13 */
				      0x5b, 0xc3, 0x5b, 0x90, 0xc3));  /* 15 17 pop; ret */

	(void)state;
	check(relative, 15, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(relative, 18, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(relative, 20, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(absolute, 6, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(absolute, 16, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(absolute, 18, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	derived_rules_free(relative);
	derived_rules_free(absolute);
}

static void a_function_does_not_run_on_into_the_next(void **state)
{
	const uint8_t bytes[] = { 0xe8, 0, 1, 0, 0, 0xc3 };
	struct derived_rules *rules = find_from(bytes, sizeof(bytes), ENTRIES(0, 5));

	(void)state;
	check(rules, 4, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	check(rules, 5, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
	derived_rules_free(rules);
}

static void a_function_nobody_names_follows_one_with_rules(void **state)
{
	static const uint8_t bytes[48] = {
		[0] = 0xc3,	    [1] = 0x0f,	 [2] = 0x1f,  [3] = 0x00,
		[4 ... 15] = 0xcc,  [16] = 0x53, [17] = 0x5b, [18] = 0xc3,
		[19 ... 31] = 0x90, [32] = 0xff, [33] = 0xe0, [34 ... 47] = 0xc3
	};
	struct derived_rules *rules = find(bytes, sizeof(bytes), true);

	(void)state;
	check(rules, 17, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	assert_int_equal(derived_rules_nr_functions(rules),
			 2); /* what follows jmp *%rax is unknown */
	derived_rules_free(rules);
}

#define BIG (1u << 20)

static void put_jump(uint8_t *bytes, uint32_t at, uint32_t target)
{
	int32_t distance = (int32_t)(target - at - 5);

	bytes[at] = 0xe9;
	memcpy(bytes + at + 1, &distance, sizeof(distance));
}

/*
 * Half a million blocks, each of which jumps to the one before; only the first one returns. Finding
 * that out would take half a million passes over all of them.
 */
static void a_chain_that_leads_backwards_is_given_up(void **state)
{
	uint8_t *bytes;
	struct derived_rules *rules;

	(void)state;
	only_in_check_all();
	bytes = malloc(BIG);
	put_jump(bytes, 0, BIG - 2);
	bytes[5] = 0xc3;		  /* ret */
	memcpy(bytes + 6, "\xeb\xfd", 2); /* jmp to it */
	for (uint32_t at = 8; at < BIG; at += 2)
		memcpy(bytes + at, "\xeb\xfc", 2); /* jmp to the one before */
	rules = find(bytes, BIG, true);
	assert_int_equal(derived_rules_nr_functions(rules), 0);
	derived_rules_free(rules);
	free(bytes);
}

/* Each function contains all later ones. */
static void functions_that_lie_in_two_far_places_are_given_up(void **state)
{
	const uint32_t nr = BIG / 6;
	uint8_t *bytes = malloc(BIG);
	const struct derived_text text = text_of(bytes, BIG);
	struct derived_rules *rules = derived_rules_new(&text);

	(void)state;
	memset(bytes, 0xc3, BIG); /* ret */
	for (uint32_t i = 0; i < nr; i++) {
		put_jump(bytes, i * 5, nr * 5 + i);
		derived_rules_add_entry(rules, (size_t)i * 5);
	}
	derived_rules_find(rules);
	assert_in_range(derived_rules_nr_functions(rules), 1, nr - 1);
	assert_int_equal(rule_at(rules, 0).cfa, WALK_CFA_SP);
	derived_rules_free(rules);
	free(bytes);
}

/* Kernels in pages of their own; the first is followed by constants. */
static void code_without_a_file_has_a_table(void **state)
{
	static const uint8_t kernel[] = { 0x53, 0x48, 0x81, 0xec, 0x88, 0, 0, 0,    0x90,
					  0x48, 0x81, 0xc4, 0x88, 0,	0, 0, 0x5b, 0xc3 };
	struct rule_set *rules = rule_set_new();
	uint8_t *code = calloc(3, 4096);
	struct unwind_table *table;
	uint32_t nr;

	(void)state;
	memcpy(code, kernel, sizeof(kernel));
	memset(code + sizeof(kernel), 6, 200);
	memcpy(code + 8192, kernel, sizeof(kernel));
	assert_int_equal(unwind_table_build_code(code, 3 * 4096, rules, &table), 0);
	assert_int_equal(table->nr_functions, 2);
	assert_int_equal(table->functions[1].start, 8192);
	assert_int_equal(table->functions[1].end, 8192 + sizeof(kernel));
	assert_true(table->functions[0].hash == unwind_function_hash(kernel, sizeof(kernel)));
	for (uint32_t at = 0; at <= 8192; at += 8192) {
		const struct walk_rule *in_it = rule_set_rules(rules, &nr);

		in_it += unwind_table_find(table, at + 8);
		assert_int_equal(in_it->cfa, WALK_CFA_SP);
		assert_int_equal(in_it->cfa_off, 0x88 + 16);
		assert_int_equal(unwind_table_find(table, at + sizeof(kernel)), WALK_RULE_NONE);
	}
	unwind_table_free(table);
	assert_int_equal(unwind_table_build_code(code + 100, 50, rules, &table), -ENODATA);
	free(code);
	rule_set_free(rules);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pushes_and_pops_are_followed_through_a_loop),
		TEST(an_aligned_frame_is_found_by_rbp_or_by_its_slot),
		TEST(an_aligned_frame_is_found_by_rbp_or_by_its_slot),
		TEST(what_leaves_by_rbp_is_left_by_rbp),
		TEST(a_tail_call_is_a_way_out),
		TEST(a_jump_through_a_register_alone_is_a_function),
		TEST(what_is_not_certain_has_no_rules),
		TEST(code_behind_a_call_that_may_not_return_has_no_rules),
		TEST(what_cannot_be_followed_is_left_out),
		TEST(functions_that_never_return_have_rules),
		TEST(code_behind_a_call_that_may_not_return_can_be_another_function),
		TEST(the_caller_s_rbp_is_where_it_was_saved_first),
		TEST(jumps_through_tables_are_followed),
		TEST(a_function_does_not_run_on_into_the_next),
		TEST(a_function_nobody_names_follows_one_with_rules),
		TEST(a_chain_that_leads_backwards_is_given_up),
		TEST(functions_that_lie_in_two_far_places_are_given_up),
		TEST(code_without_a_file_has_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
