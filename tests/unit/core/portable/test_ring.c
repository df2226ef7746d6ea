/*
 * core/portable/ring.h: order, drops, several producers, and a target that writes impossible
 * positions.
 */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/portable/ring.h"

#define SIZE 1024u /* words */
#define NR_PRODUCERS 4
#define NR_EACH 50000u

struct shared {
	struct ring ring;
	__u64 words[SIZE];
};

static int write_record(struct shared *s, __u32 nr, __u64 value)
{
	__u64 position;

	if (ring_reserve(&s->ring, s->words, SIZE, nr, &position))
		return -1;
	for (__u32 i = 1; i < nr; i++)
		ring_put(s->words, SIZE, position + i, value + i);
	ring_commit(s->words, SIZE, position, nr);
	return 0;
}

/* Returns the words of the record, or 0 where there is no whole record. */
static __u32 read_record(struct shared *s, __u64 *tail, __u64 *ret_value)
{
	__u32 nr;

	if (ring_peek(&s->ring, s->words, SIZE, *tail, &nr) != RING_RECORD)
		return 0;
	*ret_value = ring_get(s->words, SIZE, *tail + 1) - 1;
	for (__u32 i = 1; i < nr; i++)
		assert_int_equal(ring_get(s->words, SIZE, *tail + i), *ret_value + i);
	*tail += nr;
	ring_release(&s->ring, *tail);
	return nr;
}

static void records_come_out_in_order_lap_after_lap(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	__u64 tail = 0, value;

	(void)state;
	for (__u64 i = 0; i < 5000; i++) {
		__u32 nr = 2 + (__u32)(i % 301);

		assert_int_equal(write_record(s, nr, i * 1000), 0);
		assert_int_equal(read_record(s, &tail, &value), nr);
		assert_int_equal(value, i * 1000);
		assert_int_equal(read_record(s, &tail, &value), 0);
	}
	assert_int_equal(s->ring.nr_dropped, 0);
	free(s);
}

static void a_full_ring_drops_and_counts(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	__u64 tail = 0, value;

	(void)state;
	for (int i = 0; i < 10; i++)
		write_record(s, 256, (__u64)i);
	assert_int_equal(s->ring.nr_dropped, 6);
	for (__u64 i = 0; i < 4; i++) {
		assert_int_equal(read_record(s, &tail, &value), 256);
		assert_int_equal(value, i);
	}
	assert_int_equal(write_record(s, 256, 99), 0);
	assert_int_equal(read_record(s, &tail, &value), 256);
	assert_int_equal(value, 99);
	free(s);
}

static void an_unfinished_record_holds_back_what_follows(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	__u64 tail = 0, value, position = 0;
	__u32 nr;

	(void)state;
	assert_int_equal(ring_reserve(&s->ring, s->words, SIZE, 10, &position), 0);
	write_record(s, 20, 7);
	assert_int_equal(ring_peek(&s->ring, s->words, SIZE, tail, &nr), RING_STARTED);
	assert_int_equal(nr, 10);
	for (__u32 i = 1; i < 10; i++)
		ring_put(s->words, SIZE, position + i, 5 + i);
	ring_commit(s->words, SIZE, position, 10);
	assert_int_equal(read_record(s, &tail, &value), 10);
	assert_int_equal(read_record(s, &tail, &value), 20);
	free(s);
}

static void a_target_that_lies_is_found_out(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	__u32 nr;

	(void)state;
	s->ring.head = SIZE + 1; /* more than the ring holds */
	assert_int_equal(ring_peek(&s->ring, s->words, SIZE, 0, &nr), RING_BROKEN);
	s->ring.head = -1ull; /* behind the tail */
	assert_int_equal(ring_peek(&s->ring, s->words, SIZE, 5, &nr), RING_BROKEN);
	s->ring.head = 100;
	s->words[0] = ring_header(0, 101) | RING_COMMITTED; /* longer than the reserved words */
	assert_int_equal(ring_peek(&s->ring, s->words, SIZE, 0, &nr), RING_BROKEN);
	s->words[0] = ring_header(0, 1) | RING_COMMITTED; /* an empty record */
	assert_int_equal(ring_peek(&s->ring, s->words, SIZE, 0, &nr), RING_BROKEN);
	s->words[0] = ring_header(SIZE, 50) | RING_COMMITTED; /* from another lap */
	assert_int_equal(ring_peek(&s->ring, s->words, SIZE, 0, &nr), RING_STARTED);
	assert_int_equal(nr, 0);
	free(s);
}

struct producer {
	struct shared *shared;
	__u64 number;
	pthread_t thread;
};

static void *produce(void *context)
{
	struct producer *p = context;

	for (__u32 i = 0; i < NR_EACH; i++)
		while (write_record(p->shared, 2 + i % 60, p->number << 48 | (__u64)i << 16))
			sched_yield();
	return NULL;
}

static void many_producers_lose_and_mix_nothing(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));
	struct producer producers[NR_PRODUCERS];
	__u32 next[NR_PRODUCERS] = { 0 };
	__u64 tail = 0, value, nr = 0;

	(void)state;
	for (__u64 i = 0; i < NR_PRODUCERS; i++) {
		producers[i] = (struct producer){ .shared = s, .number = i };
		assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]),
				 0);
	}
	while (nr < (__u64)NR_PRODUCERS * NR_EACH) {
		__u32 who, i;

		if (!read_record(s, &tail, &value)) {
			sched_yield();
			continue;
		}
		who = (__u32)(value >> 48);
		i = (__u32)(value >> 16);
		assert_true(who < NR_PRODUCERS);
		assert_int_equal(i, next[who]);
		next[who]++;
		nr++;
	}
	for (int i = 0; i < NR_PRODUCERS; i++)
		pthread_join(producers[i].thread, NULL);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_in_order_lap_after_lap),
		cmocka_unit_test(a_full_ring_drops_and_counts),
		cmocka_unit_test(an_unfinished_record_holds_back_what_follows),
		cmocka_unit_test(a_target_that_lies_is_found_out),
		cmocka_unit_test(many_producers_lose_and_mix_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
