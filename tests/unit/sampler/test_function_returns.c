/* Returns in machine code that is written here by hand, as compilers leave it. */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/function_returns_x86_64.h"

#define AT 0x100000 /* of the function in its file */
#define FAR 0x80000

/* A file with these bytes there; the rest is int3. */
static int file_of(const uint8_t *code, size_t nr)
{
	static uint8_t bytes[2 * AT];
	int fd = memfd_create("code", MFD_CLOEXEC);

	memset(bytes, 0xcc, sizeof(bytes));
	memcpy(bytes + AT, code, nr);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	return fd;
}

static void returns_are(const uint8_t *code, size_t nr, uint64_t size, const uint64_t *expected,
			size_t nr_expected)
{
	uint64_t found[FUNCTION_MAX_RETURNS];
	int fd = file_of(code, nr);
	size_t nr_found = function_returns_find(fd, AT, size, found);

	assert_int_equal(nr_found, nr_expected);
	for (size_t i = 0; i < nr_expected; i++) {
		bool is_there = false;

		for (size_t k = 0; k < nr_found; k++)
			is_there |= found[k] == AT + expected[i];
		assert_true(is_there);
	}
	close(fd);
}

#define RETURNS(code, size, ...)                                                                   \
	returns_are(code, sizeof(code), size, (const uint64_t[]){ __VA_ARGS__ },                   \
		    sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void each_return_of_a_function_is_found(void **state)
{
	/* push rbx; test edi, edi; je +2; pop rbx; ret; sub rsp, 8; add rsp, 8; pop rbx; ret */
	static const uint8_t code[] = { 0x53, 0x85, 0xff, 0x74, 0x02, 0x5b, 0xc3, 0x48, 0x83,
					0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0xc3 };

	(void)state;
	RETURNS(code, sizeof(code), 6, 16);
	RETURNS(code, 0, 6, 16);
}

static void a_tail_call_is_followed(void **state)
{
	/* jmp +11, as gloo::allreduce() is, which is 5 bytes; push rbp; pop rbp; ret */
	static const uint8_t code[] = { 0xe9, 11,   0,	  0,	0,    0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
					0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x55, 0x5d, 0xc3 };

	(void)state;
	RETURNS(code, 5, 18);
}

static void code_that_throws_leads_to_no_other_function(void **state)
{
	/* push rbx; je +2; pop rbx; ret; jmp far: not a tail call, as rbx is still on the stack */
	static const uint8_t near[] = { 0x53, 0x74, 0x02, 0x5b, 0xc3, 0xe9, 0, 0, 8, 0 };
	/* there: pop rbx; ret */
	static uint8_t code[FAR + 16];

	(void)state;
	memset(code, 0xcc, sizeof(code));
	memcpy(code, near, sizeof(near));
	code[FAR + 10] = 0x5b;
	code[FAR + 11] = 0xc3;
	RETURNS(code, sizeof(near), 4);
}

static void a_return_with_something_on_the_stack_is_none(void **state)
{
	static const uint8_t code[] = { 0x53, 0xc3 };		 /* push rbx; ret */
	static const uint8_t cut[] = { 0x48, 0x83, 0xec, 0x08 }; /* sub rsp, 8; int3 */
	static const uint8_t loop[] = { 0xeb, 0xfe };		 /* jmp to itself */

	(void)state;
	returns_are(code, sizeof(code), sizeof(code), NULL, 0);
	returns_are(cut, sizeof(cut), sizeof(cut), NULL, 0);
	returns_are(loop, sizeof(loop), 0, NULL, 0);
}

static void too_many_returns_are_none(void **state)
{
	static uint8_t code[3 * FUNCTION_MAX_RETURNS + 4];
	uint64_t found[FUNCTION_MAX_RETURNS];
	size_t at = 0;
	int fd;

	(void)state;
	for (int i = 0; i < FUNCTION_MAX_RETURNS; i++) { /* je +1; ret */
		code[at++] = 0x74;
		code[at++] = 0x01;
		code[at++] = 0xc3;
	}
	code[at++] = 0xc3;
	returns_are(code, at, at, NULL, 0);
	fd = file_of(code + 3, at - 3); /* one less */
	assert_int_equal(function_returns_find(fd, AT, at - 3, found), FUNCTION_MAX_RETURNS);
	close(fd);
}

static void a_file_that_ends_ends_the_search(void **state)
{
	uint64_t found[FUNCTION_MAX_RETURNS];
	int fd = file_of((const uint8_t[]){ 0x90 }, 1);

	(void)state;
	assert_int_equal(function_returns_find(fd, 2 * AT, 100, found), 0);
	assert_int_equal(function_returns_find(fd, UINT64_MAX - 2, 100, found), 0);
	assert_int_equal(function_returns_find(-1, AT, 100, found), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_return_of_a_function_is_found),
		cmocka_unit_test(a_tail_call_is_followed),
		cmocka_unit_test(code_that_throws_leads_to_no_other_function),
		cmocka_unit_test(a_return_with_something_on_the_stack_is_none),
		cmocka_unit_test(too_many_returns_are_none),
		cmocka_unit_test(a_file_that_ends_ends_the_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
