/* What an iterator says comes over whole, and one whose reader sleeps for ever is given up. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "sampler/waiting/guarded_iterator.h"

static void add(void *context, const void *bytes, size_t size)
{
	buffer_add(context, bytes, size);
}

static void all_bytes_come_over(void **state)
{
	struct buffer got = { 0 }, want = { 0 };
	FILE *f = tmpfile();

	(void)state;
	for (int i = 0; i < 100000; i++)
		buffer_printf(&want, "%d\n", i);
	assert_int_equal(fwrite(want.data, 1, want.size, f), want.size);
	rewind(f);
	assert_int_equal(guarded_iterator_read(fileno(f), 5000 * NS_PER_MS, add, &got), 0);
	assert_int_equal(got.size, want.size);
	assert_memory_equal(got.data, want.data, want.size);
	buffer_fini(&got);
	buffer_fini(&want);
	fclose(f);
}

/* A pipe whose writer says one word stands for an iterator that has met a page that never comes. */
static void what_came_before_a_stuck_read_is_kept(void **state)
{
	struct buffer got = { 0 };
	uint64_t from = monotonic_ns();
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "word", 4), 4);
	assert_int_equal(guarded_iterator_read(ends[0], 200 * NS_PER_MS, add, &got), -ETIMEDOUT);
	assert_true(monotonic_ns() - from >= 200 * NS_PER_MS);
	assert_int_equal(got.size, 4);
	assert_memory_equal(got.data, "word", 4);
	buffer_fini(&got);
	close(ends[0]);
	close(ends[1]);
}

static void what_cannot_be_read_is_an_error(void **state)
{
	struct buffer got = { 0 };
	FILE *folder = fopen("/", "re");

	(void)state;
	assert_non_null(folder);
	assert_int_equal(guarded_iterator_read(fileno(folder), NS_PER_MS * 1000, add, &got), -EIO);
	assert_int_equal(got.size, 0);
	buffer_fini(&got);
	fclose(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_come_over),
		cmocka_unit_test(what_came_before_a_stuck_read_is_kept),
		cmocka_unit_test(what_cannot_be_read_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
