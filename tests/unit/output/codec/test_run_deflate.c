/*
 * What is compressed here expands to the same bytes in zlib, whatever they are.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/codec/run_deflate.h"

static void check(const unsigned char *data, size_t size, size_t most)
{
	struct buffer b = { 0 };
	unsigned char *out = xmalloc(size + 1);
	z_stream z = { .next_out = out, .avail_out = (uInt)size + 1 };

	run_deflate_add(&b, data, size / 2);
	run_deflate_add(&b, data + size / 2, size - size / 2);
	run_deflate_end(&b);
	if (most)
		assert_in_range(b.size, 1, most);
	z.next_in = (Bytef *)b.data;
	z.avail_in = (uInt)b.size;
	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, size);
	assert_int_equal(z.avail_in, 0);
	if (size)
		assert_memory_equal(out, data, size);
	inflateEnd(&z);
	free(out);
	buffer_fini(&b);
}

static void nothing_and_little_are_kept(void **state)
{
	unsigned char same[1000];

	(void)state;
	for (size_t n = 0; n <= sizeof(same); n++) {
		memset(same, (int)n, sizeof(same));
		check(same, n, 0);
	}
	for (size_t n = 0; n < 300; n++)
		check((const unsigned char *)"abcabcabcabd" + n % 12, 12 - n % 12, 0);
}

/* Runs of all lengths, between bytes that occur once or often. */
static void random_bytes_are_kept(void **state)
{
	size_t most = 300000;
	unsigned char *data = xmalloc(most);

	(void)state;
	srand(7);
	for (int round = 0; round < 60; round++) {
		size_t size = (size_t)rand() % most, n = 0;
		int values = 1 + rand() % 256, longest = 1 + rand() % 600;

		while (n < size) {
			size_t run = rand() % 3 ? 1 : 1 + (size_t)(rand() % longest);

			for (unsigned char c = (unsigned char)(rand() % values); run-- && n < size;)
				data[n++] = c;
		}
		check(data, size, 0);
	}
	free(data);
}

/* Counts like Fibonacci's numbers give the deepest codes, deeper than deflate allows. */
static void codes_are_not_too_long(void **state)
{
	unsigned char data[64 << 10];
	size_t n = 0, count = 1, before = 1;

	(void)state;
	for (unsigned char c = 0; n < sizeof(data); c++) {
		for (size_t i = 0; i < count && n < sizeof(data); i++)
			data[n++] = c;
		count += before;
		before = count - before;
	}
	/* Without runs: neighbours change places over the whole. */
	srand(7);
	for (size_t i = n - 1; i; i--) {
		size_t j = (size_t)rand() % (i + 1);
		unsigned char c = data[i];

		data[i] = data[j];
		data[j] = c;
	}
	check(data, n, 0);
}

static void runs_take_little_room(void **state)
{
	unsigned char *zeros = xcalloc(1, 1 << 20);

	(void)state;
	check(zeros, 1 << 20, 5000);
	for (size_t i = 0; i < 1 << 20; i += 50)
		zeros[i] = (unsigned char)(1 + i % 9);
	check(zeros, 1 << 20, 60000);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_and_little_are_kept),
		cmocka_unit_test(random_bytes_are_kept),
		cmocka_unit_test(codes_are_not_too_long),
		cmocka_unit_test(runs_take_little_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
