/*
 * What is planned for functions that begin in different ways: how many bytes are moved, and which
 * functions are refused. test_hook_code.c carries plans out.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "sampler/alloc/x86_64/hook_code.h"

#define TEXT(...) ((const uint8_t[HOOK_MAX_BYTES + 16]){ __VA_ARGS__ })
#define TEXT_SIZE (HOOK_MAX_BYTES + 16u)

/* The first instructions of functions of glibc 2.36 and of others. */
static const uint8_t glibc_malloc[] = { 0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x83,
					0xec, 0x10, 0x80, 0x3d, 0x46, 0x1b, 0x14, 0x00, 0x00 };
static const uint8_t glibc_free[] = { 0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0x00,
				      0x00, 0x00, 0x55, 0x48, 0x8d, 0x77, 0xf0 };
static const uint8_t glibc_memalign[] = { 0x80, 0x3d, 0x71, 0x0e, 0x14, 0x00, 0x00, 0x74,
					  0x07, 0xe9, 0x32, 0xf6, 0xff, 0xff, 0x66, 0x90 };
static const uint8_t with_endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54,
					0x55, 0x53, 0x48, 0x89, 0xfb };
static const uint8_t short_one[] = { 0x31, 0xc0, 0xc3 };
static const uint8_t with_call[] = { 0x55, 0xe8, 0x10, 0x20, 0x30, 0x00, 0x5d, 0xc3 };
static const uint8_t increments[] = { 0x48, 0xff, 0x05, 0x10, 0x20, 0x00,
				      0x00, 0x41, 0x54, 0x55, 0x53, 0x48 };

static int plan(const uint8_t *code, size_t size, struct hook_plan *ret)
{
	uint8_t text[TEXT_SIZE] = { 0 };
	const char *why = NULL;
	int err;

	memset(text, 0x90, sizeof(text));
	memcpy(text, code, size);
	err = hook_plan_make(text, sizeof(text), 0x10000, ret, &why);
	if (err)
		assert_non_null(why);
	return err;
}

#define PLAN(code, ret) plan(code, sizeof(code), ret)

static void first_instruction_stays(void **state)
{
	struct hook_plan p;

	(void)state;
	assert_int_equal(PLAN(glibc_malloc, &p), 0);
	assert_int_equal(p.kept, 2); /* push %r12 */
	assert_int_equal(p.length, 7);
	assert_int_equal(p.undo, 8);
	assert_false(p.again);
	assert_int_equal(PLAN(glibc_free, &p), 0);
	assert_int_equal(p.kept, 3); /* test %rdi, %rdi */
	assert_int_equal(p.length, 9);
	assert_true(p.again);
	assert_int_equal(PLAN(glibc_memalign, &p), 0);
	assert_int_equal(p.kept, 7); /* cmpb $0, n(%rip) */
	assert_int_equal(p.length, 14);
	assert_true(p.again);
	assert_int_equal(PLAN(with_endbr64, &p), 0);
	assert_int_equal(p.kept, 4);
	assert_false(p.again);
	assert_int_equal(p.undo, 0);
}

/* The malloc of jemalloc 5.3 begins so; that of a build with another limit may compare r10. */
static void comparison_of_an_argument_is_run_again(void **state)
{
	static const uint8_t of_rdi[HOOK_MAX_BYTES] = { 0x48, 0x81, 0xff, 0x00, 0x10, 0x00, 0x00,
							0x0f, 0x87, 0x93, 0x00, 0x00, 0x00 };
	static const uint8_t of_r10[HOOK_MAX_BYTES] = { 0x49, 0x81, 0xfa, 0x00, 0x10, 0x00, 0x00,
							0x0f, 0x87, 0x93, 0x00, 0x00, 0x00 };
	static const uint8_t of_rax[HOOK_MAX_BYTES] = { 0x48, 0x83, 0xf8, 0x10, 0x48,
							0x89, 0xc2, 0x90, 0x90 };
	struct hook_plan p;

	(void)state;
	assert_int_equal(PLAN(of_rdi, &p), 0);
	assert_int_equal(p.kept, 7);
	assert_int_equal(p.length, 13);
	assert_true(p.again);
	assert_int_equal(PLAN(of_r10, &p), -ENOTSUP); /* the stub changes it */
	assert_int_equal(PLAN(of_rax, &p), -ENOTSUP);
}

static void what_cannot_be_moved_is_refused(void **state)
{
	struct hook_plan p;

	(void)state;
	assert_int_equal(PLAN(short_one, &p), -ENOTSUP);
	assert_int_equal(PLAN(with_call, &p), -ENOTSUP);
	assert_int_equal(PLAN(increments, &p), -ENOTSUP); /* would count twice */
}

static void jumps_into_the_start_are_found(void **state)
{
	uint8_t text[512];
	struct hook_plan p;
	const char *why;
	int32_t distance;

	(void)state;
	memset(text, 0x90, sizeof(text));
	memcpy(text + 64, glibc_malloc, sizeof(glibc_malloc));
	assert_int_equal(hook_plan_make(text + 64, 256, 0x10040, &p, &why), 0);
	assert_int_equal(hook_find_entered(text, sizeof(text), 0x10000, &p, 1), 1);
	text[300] = 0xe9; /* to its third instruction */
	distance = 64 + 3 - 305;
	memcpy(text + 301, &distance, 4);
	assert_int_equal(hook_find_entered(text, sizeof(text), 0x10000, &p, 1), 0);
	distance = 64 - 305; /* to its first */
	memcpy(text + 301, &distance, 4);
	assert_int_equal(hook_find_entered(text, sizeof(text), 0x10000, &p, 1), 1);
	text[64 + 18] = 0xeb; /* a loop to its second */
	text[64 + 19] = (uint8_t)(2 - 20);
	assert_int_equal(hook_find_entered(text, sizeof(text), 0x10000, &p, 1), 0);
}

static void a_jump_to_another_function_is_found(void **state)
{
	const uint8_t code[] = { 0x5b, 0xe9, 0xfa, 0x0f, 0x00, 0x00 };
	size_t at = 0;

	(void)state;
	assert_int_equal(hook_next_jump(code, sizeof(code), 0x1000, false, &at), 0x2000);
	assert_int_equal(at, sizeof(code));
	assert_int_equal(hook_next_jump(code, sizeof(code), 0x1000, false, &at), 0);
}

static void a_call_of_another_function_is_found_if_it_is_wanted(void **state)
{
	const uint8_t code[] = { 0x5b, 0xe8, 0xfa, 0x0f, 0x00, 0x00, 0xc3 };
	size_t at = 0;

	(void)state;
	assert_int_equal(hook_next_jump(code, sizeof(code), 0x1000, false, &at), 0);
	at = 0;
	assert_int_equal(hook_next_jump(code, sizeof(code), 0x1000, true, &at), 0x2000);
	assert_int_equal(hook_next_jump(code, sizeof(code), 0x1000, true, &at), 0);
}

static void a_linkage_table_is_seen_through(void **state)
{
	const uint8_t plain[] = { 0xff, 0x25, 0x10, 0x00, 0x00, 0x00 };
	const uint8_t marked[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0 };

	(void)state;
	assert_int_equal(hook_plt_slot(plain, sizeof(plain), 0x1000), 0x1016);
	assert_int_equal(hook_plt_slot(marked, sizeof(marked), 0x1000), 0x101b);
	assert_int_equal(hook_plt_slot(plain, 5, 0x1000), 0);
	assert_int_equal(hook_plt_slot(glibc_free, sizeof(glibc_free), 0x1000), 0);
}

/* mov %r8,%rcx: run again after the slow path it is harmless, but what that sees is changed. */
static void a_first_instruction_that_changes_an_argument_is_refused(void **state)
{
	static const uint8_t moves[HOOK_MAX_BYTES] = { 0x4c, 0x89, 0xc1, 0x41, 0x54,
						       0x55, 0x53, 0x90, 0x90 };
	struct hook_plan p;

	(void)state;
	assert_int_equal(PLAN(moves, &p), 0);
	assert_null(hook_plan_refuses(&p, ALLOC_MALLOC));
	assert_non_null(hook_plan_refuses(&p, ALLOC_TENSOR));
	assert_int_equal(PLAN(glibc_malloc, &p), 0);
	assert_null(hook_plan_refuses(&p, ALLOC_TENSOR));
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(first_instruction_stays),
		cmocka_unit_test(comparison_of_an_argument_is_run_again),
		cmocka_unit_test(what_cannot_be_moved_is_refused),
		cmocka_unit_test(jumps_into_the_start_are_found),
		cmocka_unit_test(a_jump_to_another_function_is_found),
		cmocka_unit_test(a_call_of_another_function_is_found_if_it_is_wanted),
		cmocka_unit_test(a_linkage_table_is_seen_through),
		cmocka_unit_test(a_first_instruction_that_changes_an_argument_is_refused),
	};

	return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
