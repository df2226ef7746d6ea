/*
 * sampler/sink/held_records.c: records stay until they are ready, and never more than there may, of
 * no user more than the share.
 */
#include "tests/unit/unit.h"

#include "sampler/sink/held_records.h"

#define MAX_SEEN 64

struct seen {
	struct held_records *held;
	uint64_t ready; /* records up to this number are */
	uint64_t data[MAX_SEEN];
	size_t nr;
	bool keeps_again;
};

static bool is_ready(void *context, const struct held_record *r)
{
	const struct seen *seen = context;

	return r->awaited <= seen->ready;
}

static void put_of(struct held_records *held, uint32_t user, uint64_t awaited, uint64_t data)
{
	const struct held_record r = {
		.awaited = awaited,
		.user = user,
		.data = &data,
		.size = sizeof(data),
	};

	assert_true(held_records_has_room(held, user, sizeof(data)));
	held_records_keep(held, &r);
}

static void put(struct held_records *held, uint64_t awaited, uint64_t data)
{
	put_of(held, 0, awaited, data);
}

static void take(void *context, const struct held_record *r)
{
	struct seen *seen = context;

	assert_int_equal(r->size, sizeof(uint64_t));
	assert_true(seen->nr < MAX_SEEN);
	seen->data[seen->nr++] = *(uint64_t *)r->data;
	if (seen->keeps_again)
		put(seen->held, r->awaited + 1, *(uint64_t *)r->data);
}

static const struct held_records_ops ops = { is_ready, take };

static void records_stay_until_they_are_ready(void **state)
{
	struct held_records *held = held_records_new(1000);
	struct seen seen = { .held = held, .ready = 1 };

	(void)state;
	for (uint64_t i = 0; i < 30; i++)
		put(held, i % 3, i);
	held_records_take(held, &ops, &seen);
	assert_int_equal(seen.nr, 20);
	for (size_t i = 0; i < seen.nr; i++)
		assert_int_equal(seen.data[i], i / 2 * 3 + i % 2);
	held_records_take(held, &ops, &seen);
	assert_int_equal(seen.nr, 20);
	seen.ready = 2;
	held_records_take(held, &ops, &seen);
	assert_int_equal(seen.nr, 30);
	for (size_t i = 20; i < seen.nr; i++)
		assert_int_equal(seen.data[i], (i - 20) * 3 + 2);
	held_records_free(held);
}

static void what_is_kept_while_others_are_taken_stays_for_the_next_time(void **state)
{
	struct held_records *held = held_records_new(1000);
	struct seen seen = { .held = held, .ready = 5, .keeps_again = true };

	(void)state;
	put(held, 9, 90);
	for (uint64_t i = 0; i < 10; i++)
		put(held, 5, i);
	held_records_take(held, &ops, &seen);
	assert_int_equal(seen.nr, 10);
	seen.keeps_again = false;
	seen.ready = 6;
	held_records_take(held, &ops, &seen);
	assert_int_equal(seen.nr, 20);
	assert_int_equal(seen.data[19], 9);
	seen.ready = 9;
	held_records_take(held, &ops, &seen);
	assert_int_equal(seen.data[20], 90);
	held_records_free(held);
}

static void there_is_room_for_so_much(void **state)
{
	struct held_records *held = held_records_new(160);
	struct seen seen = { .held = held, .ready = 5 };

	(void)state;
	for (uint64_t i = 0; i < 15; i++)
		put(held, 5, i);
	assert_false(held_records_has_room(held, 0, 1));
	held_records_take(held, &ops, &seen);
	assert_true(held_records_has_room(held, 0, 120));
	assert_false(held_records_has_room(held, 0, 121));
	put(held, 6, 1); /* goes with all */
	held_records_free(held);
	held_records_free(NULL);
}

static void one_users_records_leave_room_for_others(void **state)
{
	struct held_records *held = held_records_new(160);
	struct seen seen = { .held = held, .ready = 5 };

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		put_of(held, 1000, 5, i);
	assert_false(held_records_has_room(held, 1000, 8));
	for (uint64_t i = 0; i < 5; i++)
		put_of(held, 1001, 6, i);
	assert_false(held_records_has_room(held, 1001, 8));
	put(held, 6, 1); /* root's quarter */
	held_records_take(held, &ops, &seen);
	assert_int_equal(seen.nr, 10);
	assert_true(held_records_has_room(held, 1000, 80));
	assert_false(held_records_has_room(held, 1000, 81));
	held_records_free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_stay_until_they_are_ready),
		cmocka_unit_test(what_is_kept_while_others_are_taken_stays_for_the_next_time),
		cmocka_unit_test(there_is_room_for_so_much),
		cmocka_unit_test(one_users_records_leave_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
