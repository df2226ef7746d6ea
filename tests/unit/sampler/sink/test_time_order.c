/*
 * sampler/sink/time_order.c and stack_ids.c: records come in the order of time; stacks are found.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/sink/time_order.h"
#include "sampler/sink/stack_ids.h"

struct seen {
	uint64_t last_ns;
	uint32_t last_serial;
	size_t nr;
};

struct record {
	uint64_t time_ns;
	uint32_t serial;
	uint8_t padding[21];
};

static void on_record(void *context, int kind, const void *data, size_t size)
{
	struct seen *seen = context;
	struct record r;

	assert_int_equal(size, sizeof(r));
	assert_int_equal((uintptr_t)data % 8, 0);
	memcpy(&r, data, sizeof(r));
	assert_int_equal(kind, (int)(r.serial % 7));
	assert_true(r.time_ns > seen->last_ns ||
		    (r.time_ns == seen->last_ns && r.serial > seen->last_serial));
	seen->last_ns = r.time_ns;
	seen->last_serial = r.serial;
	seen->nr++;
}

static void on_any(void *context, int kind, const void *data, size_t size)
{
	(void)context;
	(void)kind;
	(void)data;
	(void)size;
}

static void records_come_out_in_the_order_of_time(void **state)
{
	struct time_order *q = time_order_new();
	struct seen seen = {};
	uint32_t serial = 0;

	(void)state;
	srand(1);
	/* Each round pushes times of this round and the next, and takes only those of this one. */
	for (uint64_t round = 1; round <= 200; round++) {
		int nr = rand() % 50;

		for (int i = 0; i < nr; i++) {
			struct record r = {
				.time_ns = round * 100 + (uint64_t)(rand() % 200),
				.serial = ++serial,
			};

			time_order_push(q, r.time_ns, (int)(serial % 7), &r, sizeof(r));
		}
		time_order_take(q, (round + 1) * 100, on_record, &seen);
		assert_true(seen.last_ns < (round + 1) * 100);
	}
	assert_int_equal(time_order_take(q, UINT64_MAX, on_record, &seen), 0);
	assert_int_equal(seen.nr, serial);
	time_order_free(q);
}

/* Copying what waits at each look would be 400 GB here. */
static void a_long_queue_is_taken_in_many_looks(void **state)
{
	static uint8_t data[8192];
	struct time_order *q = time_order_new();
	size_t nr = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		time_order_push(q, i, 0, data, sizeof(data));
	assert_int_equal(time_order_bytes(q), 10000 * sizeof(data));
	for (uint64_t i = 0; i < 10000; i++) {
		nr = time_order_take(q, i + 1, on_any, NULL);
		assert_int_equal(nr, 10000 - i - 1);
	}
	assert_int_equal(time_order_bytes(q), 0);
	time_order_free(q);
}

static void the_room_of_a_burst_is_given_back(void **state)
{
	struct time_order *q = time_order_new();
	struct record r = { .time_ns = 1 };
	struct seen seen = {};

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		time_order_push(q, i, 0, &i, sizeof(i));
	for (uint64_t i = 1; i <= 100; i++) {
		assert_true(time_order_room(q) > 100000 - i * 1000);
		assert_int_equal(time_order_take(q, i * 1000, on_any, NULL), 100000 - i * 1000);
	}
	for (int i = 0; i < 20; i++)
		time_order_take(q, UINT64_MAX, on_any, NULL);
	assert_true(time_order_room(q) <= 1024);
	time_order_push(q, 1, 0, &r, sizeof(r));
	time_order_take(q, UINT64_MAX, on_record, &seen);
	assert_int_equal(seen.nr, 1);
	time_order_free(q);
}

static void a_known_stack_is_found_until_the_table_is_full(void **state)
{
	struct stack_ids *keys = stack_ids_new();
	struct known_stack known;
	uint64_t n = 1;

	(void)state;
	assert_false(stack_ids_find(keys, 42, &known));
	while (stack_ids_add(keys, n * 0x9e3779b97f4a7c15ull,
			     (struct known_stack){ (uint32_t)n, 3 }))
		n++;
	/* The key that did not fit emptied the table and was added. */
	assert_true(n > 1000000);
	assert_true(stack_ids_find(keys, n * 0x9e3779b97f4a7c15ull, &known));
	assert_int_equal(known.stack, n);
	assert_int_equal(known.incomplete, 3);
	assert_false(stack_ids_find(keys, 0x9e3779b97f4a7c15ull, &known));
	stack_ids_free(keys);
}

static void a_table_of_stacks_keeps_to_its_memory(void **state)
{
	struct stack_ids *keys = stack_ids_new();
	uint64_t n = 1;

	(void)state;
	stack_ids_set_memory(keys, 1u << 20);
	while (stack_ids_add(keys, n * 0x9e3779b97f4a7c15ull, (struct known_stack){ 1, 0 }))
		n++;
	assert_true(n > 5000 && n < 12000);
	stack_ids_set_memory(keys, 0); /* it cannot do with nothing */
	stack_ids_clear(keys);
	for (n = 1; stack_ids_add(keys, n * 0x9e3779b97f4a7c15ull, (struct known_stack){ 1, 0 });)
		n++;
	assert_true(n > 1000);
	stack_ids_free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_in_the_order_of_time),
		cmocka_unit_test(a_long_queue_is_taken_in_many_looks),
		cmocka_unit_test(the_room_of_a_burst_is_given_back),
		cmocka_unit_test(a_known_stack_is_found_until_the_table_is_full),
		cmocka_unit_test(a_table_of_stacks_keeps_to_its_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
