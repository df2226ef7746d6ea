/*
 * sampler/unwind/x86_64/known_code.c: functions that switch stacks, and what only resembles them.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "sampler/unwind/x86_64/known_code.h"

#define TEXT_SIZE 4096
#define VADDR 0x401000

struct fixture {
	uint8_t text[TEXT_SIZE];
	int kinds[TEXT_SIZE]; /* enum known_code of each byte, -1: none */
};

/* systemstack of Go 1.26, shortened */
static const uint8_t systemstack[] = {
	0x55,				       /* push %rbp */
	0x48, 0x89, 0xe5,		       /* mov %rsp, %rbp */
	0x48, 0x8b, 0x7c, 0x24, 0x10,	       /* mov 0x10(%rsp), %rdi */
	0x48, 0x8b, 0x62, 0x38,		       /* mov 0x38(%rdx), %rsp */
	0xff, 0xd7,			       /* call *%rdi */
	0x48, 0x8b, 0x60, 0x38,		       /* mov 0x38(%rax), %rsp */
	0x48, 0xc7, 0x40, 0x38, 0,    0, 0, 0, /* movq $0, 0x38(%rax) */
	0x5d,				       /* pop %rbp */
	0xc3,				       /* ret */
};

static void on_found(void *context, uint64_t vaddr, uint64_t length, enum known_code kind)
{
	struct fixture *f = context;

	assert_in_range(vaddr, VADDR, VADDR + TEXT_SIZE - 1);
	assert_in_range(length, 1, VADDR + TEXT_SIZE - vaddr);
	for (uint64_t i = vaddr - VADDR; length--; i++) {
		assert_int_equal(f->kinds[i], -1); /* no byte has two rules */
		f->kinds[i] = kind;
	}
}

/* Searches text of int3 that has `code` at an offset. */
static void search(struct fixture *f, size_t at, const uint8_t *code, size_t size)
{
	memset(f->text, 0xcc, sizeof(f->text));
	memcpy(f->text + at, code, size);
	for (size_t i = 0; i < TEXT_SIZE; i++)
		f->kinds[i] = -1;
	known_code_find(VADDR, f->text, TEXT_SIZE, on_found, f);
}

static void nothing_is_known(const struct fixture *f)
{
	for (size_t i = 0; i < TEXT_SIZE; i++)
		assert_int_equal(f->kinds[i], -1);
}

static void a_function_that_switches_stacks_keeps_its_frame(void **state)
{
	const size_t places[] = { 0, 0x340, TEXT_SIZE - 32 };
	struct fixture f;

	(void)state;
	for (size_t p = 0; p < 3; p++) {
		const int *kinds = f.kinds + places[p];
		size_t pop = sizeof(systemstack) - 2;

		search(&f, places[p], systemstack, sizeof(systemstack));
		assert_int_equal(kinds[0], KNOWN_CALLED);
		for (size_t i = 1; i < pop; i++)
			assert_int_equal(kinds[i], i < 4 ? KNOWN_CALLED_8 : KNOWN_OTHER_STACK);
		assert_int_equal(kinds[pop], -1);
		assert_int_equal(kinds[pop + 1], KNOWN_CALLED);
		assert_int_equal(p == 2 ? -1 : kinds[pop + 2], -1);
	}
}

static void where_the_frame_pointer_is_lost_the_rule_ends(void **state)
{
	uint8_t code[sizeof(systemstack)];
	struct fixture f;

	(void)state;
	/* mcall: the frame pointer is cleared behind the switch, so the call has no rule */
	memcpy(code, systemstack, sizeof(code));
	memcpy(code + 13, (const uint8_t[]){ 0x31, 0xed, 0xff, 0xd7 }, 4); /* xor %ebp, %ebp */
	search(&f, 0x100, code, sizeof(code));
	assert_int_equal(f.kinds[0x100 + 12], KNOWN_OTHER_STACK);
	assert_int_equal(f.kinds[0x100 + 13], -1);
	assert_int_equal(f.kinds[0x100 + 16], -1);
	/* before the switch: none at all */
	memcpy(code, systemstack, sizeof(code));
	memcpy(code + 4, (const uint8_t[]){ 0x31, 0xed, 0x90, 0x90, 0x90 }, 5);
	search(&f, 0x100, code, sizeof(code));
	nothing_is_known(&f);
}

static void code_of_another_shape_is_not_taken(void **state)
{
	uint8_t code[sizeof(systemstack)];
	struct fixture f;

	(void)state;
	search(&f, 0x108, systemstack, sizeof(systemstack)); /* not aligned */
	nothing_is_known(&f);
	memcpy(code, systemstack, sizeof(code));
	code[0] = 0x53; /* push %rbx */
	search(&f, 0x100, code, sizeof(code));
	nothing_is_known(&f);
	memcpy(code, systemstack, sizeof(code));
	code[8] = 0xc3; /* a ret in between, at the place of an operand: nothing changes */
	search(&f, 0x100, code, sizeof(code));
	assert_int_equal(f.kinds[0x104], KNOWN_OTHER_STACK);
	code[4] = 0xc3; /* the function ends before the switch */
	search(&f, 0x100, code, sizeof(code));
	nothing_is_known(&f);
	/* the bytes of the switch are inside another instruction: mov $imm, %rax */
	memcpy(code, systemstack, sizeof(code));
	memcpy(code + 4, (const uint8_t[]){ 0x90, 0x90, 0x90, 0x48, 0xb8 }, 5);
	memset(code + 13, 0x90, sizeof(code) - 13);
	search(&f, 0x100, code, sizeof(code));
	nothing_is_known(&f);
}

/* make_fcontext of Boost.Context: its last instructions */
static void a_coroutine_begins_where_its_function_returns_to(void **state)
{
	static const uint8_t code[] = {
		0x55,			      /* push %rbp */
		0xff, 0xe3,		      /* jmp *%rbx */
		0x48, 0x31, 0xff,	      /* finish: xor %rdi, %rdi */
		0xe8, 0,    1,	  0, 0, 0xf4, /* call _exit; hlt */
	};
	uint8_t other[sizeof(code)];
	struct fixture f;

	(void)state;
	search(&f, 0x10c, code, sizeof(code));
	for (size_t i = 0x10c; i < 0x10c + sizeof(code); i++)
		assert_int_equal(f.kinds[i], i < 0x10e ? -1 : KNOWN_ROOT);
	assert_int_equal(f.kinds[0x10c + sizeof(code)], -1);
	for (size_t i = 0; i < sizeof(code); i++) {
		memcpy(other, code, sizeof(code));
		other[i] ^= 0x40;
		if (i >= 7 && i <= 10) /* where it calls */
			continue;
		search(&f, 0x10c, other, sizeof(other));
		nothing_is_known(&f);
	}
	search(&f, TEXT_SIZE - sizeof(code), code, sizeof(code));
	assert_int_equal(f.kinds[TEXT_SIZE - 1], KNOWN_ROOT);
	search(&f, TEXT_SIZE - sizeof(code) + 1, code, sizeof(code) - 1);
	nothing_is_known(&f);
}

static void text_that_ends_anywhere_is_survived(void **state)
{
	struct fixture f;

	(void)state;
	search(&f, 0, systemstack, sizeof(systemstack));
	for (size_t size = 0; size < 2 * sizeof(systemstack); size++) {
		for (size_t i = 0; i < TEXT_SIZE; i++)
			f.kinds[i] = -1;
		known_code_find(VADDR, f.text, size, on_found, &f);
		for (size_t i = size; i < TEXT_SIZE; i++)
			assert_int_equal(f.kinds[i], -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_that_switches_stacks_keeps_its_frame),
		cmocka_unit_test(where_the_frame_pointer_is_lost_the_rule_ends),
		cmocka_unit_test(code_of_another_shape_is_not_taken),
		cmocka_unit_test(a_coroutine_begins_where_its_function_returns_to),
		cmocka_unit_test(text_that_ends_anywhere_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
