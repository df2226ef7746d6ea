/* The search for a thread among the states that an interpreter lists, in memory made for it. */
#include <string.h>

#include "tests/unit/unit.h"

#include "core/portable/glibc_x86_64.h"
#include "sampler/runtimes/python/thread_pointers.h"

#define BASE 0x10000u
#define RUNTIME (BASE + 0x0)
#define INTERPRETER (BASE + 0x400)
#define STATE(n) (BASE + 0x1000 + 0x200 * (n))
#define THREAD(n) (BASE + 0x4000 + 0x800 * (n))

/* CPython 3.11: where its states have the thread pointer, and behind it the number. */
static const struct py_layout layout = { .runtime = RUNTIME, .minor = 11, .thread_id = 152 };

struct memory {
	uint8_t bytes[0x8000];
	int nr_reads;
};

static int read_fake(void *context, void *to, uint32_t size, uint64_t address)
{
	struct memory *m = context;

	m->nr_reads++;
	if (address < BASE || address + size > BASE + sizeof(m->bytes))
		return -1;
	memcpy(to, m->bytes + (address - BASE), size);
	return 0;
}

static void put(struct memory *m, uint64_t address, uint64_t value)
{
	memcpy(m->bytes + (address - BASE), &value, 8);
}

static void put_thread(struct memory *m, int n, int32_t tid)
{
	put(m, STATE(n) + layout.thread_id, THREAD(n));
	put(m, THREAD(n) + GLIBC_PTHREAD_SELF, THREAD(n));
	memcpy(m->bytes + (THREAD(n) - BASE) + GLIBC_PTHREAD_TID, &tid, 4);
}

/* An interpreter with the threads 100 and 101. */
static void fill(struct memory *m)
{
	memset(m, 0, sizeof(*m));
	put(m, RUNTIME + 40, INTERPRETER);
	put(m, INTERPRETER + 16, STATE(0));
	put(m, STATE(0) + 8, STATE(1));
	put_thread(m, 0, 100);
	put_thread(m, 1, 101);
}

static uint64_t find(struct memory *m, int32_t tid)
{
	struct python_thread_list list;

	assert_int_equal(python_thread_list_fill(&list, &layout, read_fake, m), 0);
	return python_thread_pointer(&list, &layout, tid, read_fake, m);
}

static void a_thread_is_found_by_its_number(void **state)
{
	static struct memory m;

	(void)state;
	fill(&m);
	assert_int_equal(find(&m, 100), THREAD(0));
	assert_int_equal(find(&m, 101), THREAD(1));
	assert_int_equal(find(&m, 102), 0);
	assert_true(python_thread_pointer_is(THREAD(1), 101, read_fake, &m));
	assert_false(python_thread_pointer_is(THREAD(1), 100, read_fake, &m));
	assert_false(python_thread_pointer_is(THREAD(1) + 8, 101, read_fake, &m));
}

static void without_glibc_the_interpreter_says_the_number(void **state)
{
	static struct memory m;

	(void)state;
	fill(&m);
	put(&m, THREAD(1) + GLIBC_PTHREAD_SELF, 0);
	assert_int_equal(find(&m, 101), 0);
	put(&m, STATE(1) + layout.thread_id + 8, 101);
	assert_int_equal(find(&m, 101), THREAD(1));
}

static void a_list_in_a_circle_ends(void **state)
{
	static struct memory m;

	(void)state;
	fill(&m);
	put(&m, STATE(1) + 8, STATE(0));
	assert_int_equal(find(&m, 102), 0);
	assert_true(m.nr_reads < 100000);
	put(&m, INTERPRETER, INTERPRETER);
	assert_int_equal(find(&m, 102), 0);
	assert_true(m.nr_reads < 200000);
}

static void memory_that_cannot_be_read_has_no_thread(void **state)
{
	static struct memory m;

	(void)state;
	fill(&m);
	put(&m, STATE(0) + 8, 0x7fff0000);
	assert_int_equal(find(&m, 101), 0);
	put(&m, RUNTIME + 40, 3);
	assert_int_equal(find(&m, 100), 0);
}

static void offsets_that_cannot_be_are_refused(void **state)
{
	const struct py_layout newer = { .runtime = RUNTIME, .minor = 13 };
	struct python_thread_list list;
	static struct memory m;

	(void)state;
	put(&m, RUNTIME + 5 * 8, 632);
	put(&m, RUNTIME + 9 * 8, 7344);
	put(&m, RUNTIME + 21 * 8, 8);
	assert_int_equal(python_thread_list_fill(&list, &newer, read_fake, &m), 0);
	assert_int_equal(list.threads, 7344);
	put(&m, RUNTIME + 9 * 8, 1u << 20);
	assert_int_equal(python_thread_list_fill(&list, &newer, read_fake, &m), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_found_by_its_number),
		cmocka_unit_test(without_glibc_the_interpreter_says_the_number),
		cmocka_unit_test(a_list_in_a_circle_ends),
		cmocka_unit_test(memory_that_cannot_be_read_has_no_thread),
		cmocka_unit_test(offsets_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
