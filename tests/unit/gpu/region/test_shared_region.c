/* The recorder's side of shared memory: rings are read in order, and no content is trusted. */
#include "tests/unit/gpu_region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/buffer.h"

struct seen {
	uint32_t tids[4096];
	size_t nr;
};

static void see(void *context, const union gpu_any_record *record)
{
	struct seen *s = context;

	s->tids[s->nr++ % 4096] = record->head.tid;
}

static struct gpu_rec_api call(uint32_t tid)
{
	return (struct gpu_rec_api){ .head = { GPU_RECORD_API, sizeof(struct gpu_rec_api), tid } };
}

static void finish(struct test_region *t)
{
	shared_region_close(t->shared);
	test_region_fini(t);
}

static void calls_come_before_what_they_caused(void **state)
{
	struct gpu_rec_kernel kernel = { .work.head = { GPU_RECORD_KERNEL, sizeof(kernel), 3 } };
	struct gpu_rec_api a = call(1), b = call(2);
	struct test_region t;
	struct seen seen = { 0 };

	(void)state;
	test_region_init(&t);
	test_region_open(&t);
	test_emit(&t, 2, &kernel);
	test_emit(&t, 1, &b);
	test_emit(&t, 0, &a);
	assert_int_equal(shared_region_drain(t.shared, see, &seen), 3);
	assert_int_equal(seen.tids[0], 1);
	assert_int_equal(seen.tids[1], 2);
	assert_int_equal(seen.tids[2], 3);
	assert_int_equal(shared_region_drain(t.shared, see, &seen), 0);
	finish(&t);
}

static void ring_goes_round_and_what_it_drops_is_counted(void **state)
{
	struct test_region t;
	struct seen seen = { 0 };
	uint32_t given = 0, dropped = 0;

	(void)state;
	srandom(2);
	test_region_init(&t);
	test_region_open(&t);
	for (int i = 0; i < 50000; i++) {
		struct gpu_rec_api a = call((uint32_t)i);
		struct gpu_rec_sync b = { .work.head = { GPU_RECORD_SYNC, sizeof(b),
							 (uint32_t)i } };

		if (test_emit(&t, 0, i % 3 ? (void *)&a : (void *)&b))
			given++;
		else
			dropped++;
		if (random() % 1000 == 0)
			shared_region_drain(t.shared, see, &seen);
	}
	shared_region_drain(t.shared, see, &seen);
	assert_int_equal(seen.nr, given);
	assert_true(dropped > 0);
	assert_int_equal(shared_region_nr_dropped(t.shared), dropped);
	assert_int_equal(shared_region_nr_broken(t.shared), 0);
	finish(&t);
}

static void record_that_is_not_finished_ends_the_reading(void **state)
{
	struct gpu_rec_api a = call(1), b = call(2);
	struct test_region t;
	struct gpu_lane *lane;
	struct seen seen = { 0 };
	char *data;

	(void)state;
	test_region_init(&t);
	test_region_open(&t);
	lane = test_area(&t, &t.header->lanes);
	data = (char *)t.header + lane->offset;
	lane->head += sizeof(a); /* reserved, not yet written */
	test_emit(&t, 0, &b);
	assert_int_equal(shared_region_drain(t.shared, see, &seen), 0);
	memcpy(data, &a, sizeof(a));
	assert_int_equal(shared_region_drain(t.shared, see, &seen), 2);
	assert_int_equal(seen.tids[1], 2);
	finish(&t);
}

static void ring_that_makes_no_sense_is_given_up(void **state)
{
	static const uint16_t sizes[] = { 4, 12, GPU_MAX_RECORD + 8, 64 };

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct gpu_rec_api a = call(1), b = call(2);
		struct test_region t;
		struct gpu_lane *lane;
		struct seen seen = { 0 };

		test_region_init(&t);
		test_region_open(&t);
		lane = test_area(&t, &t.header->lanes);
		if (i < 4)
			a.head.size = sizes[i];
		memcpy((char *)t.header + lane->offset, &a, sizeof(a));
		lane->head = i == 4 ? 44 : i == 5 ? 2 * TEST_RING : sizeof(a);
		test_emit(&t, 1, &b);
		assert_int_equal(shared_region_drain(t.shared, see, &seen), 1);
		assert_int_equal(seen.tids[0], 2); /* the other ring is still read */
		assert_int_equal(shared_region_nr_broken(t.shared), 1);
		finish(&t);
	}
}

static void header_that_makes_no_sense_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 13; i++) {
		struct test_region t;
		struct gpu_lane *lane;

		test_region_init(&t);
		lane = test_area(&t, &t.header->lanes);
		switch (i) {
		case 0: t.header->magic++; break;
		case 1: t.header->version++; break;
		case 2: t.header->region_bytes = TEST_REGION_BYTES + 1; break;
		case 3: t.header->strings.offset = TEST_REGION_BYTES; break;
		case 4: t.header->folds.entry_size = 8; break;
		case 5: t.header->nr_lanes = 100000; break;
		case 6: lane->size = 3 * 4096; break;
		case 7: lane->offset = UINT64_MAX - 4096; break;
		case 8: t.header->stacks.size = UINT64_MAX; break;
		case 9: t.header->estimates.entry_size = 72; break;
		case 10: t.header->estimates.offset = TEST_REGION_BYTES + 8; break;
		case 11: t.header->flops.entry_size = 72; break;
		case 12: t.header->flops.offset = TEST_REGION_BYTES + 8; break;
		}
		assert_int_equal(shared_region_adopt(t.header, t.size, &t.shared), -EPROTO);
		test_region_fini(&t);
	}
}

static void ids_out_of_range_are_refused(void **state)
{
	uint64_t frames[GPU_MAX_STACK];
	struct gpu_range_node node;
	uint8_t end;
	struct buffer b = { 0 };
	struct test_region t;
	uint32_t nr, id;

	(void)state;
	test_region_init(&t);
	test_region_open(&t);
	assert_false(shared_region_string(t.shared, 0, &b));
	assert_false(shared_region_string(t.shared, UINT32_MAX, &b));
	assert_false(shared_region_stack(t.shared, 0, frames, &nr, &end));
	assert_false(shared_region_stack(t.shared, TEST_ARENA / 8 - 1, frames, &nr, &end));
	id = test_string(&t, "x");
	assert_true(shared_region_string(t.shared, id, &b));
	assert_string_equal(buffer_cstring(&b), "x");
	((struct gpu_string *)((char *)test_area(&t, &t.header->strings) + id * 8))->length = 1
											      << 20;
	assert_false(shared_region_string(t.shared, id, &b));
	id = test_range(&t, 0, "a", "");
	test_range_node(&t, id)->parent = id; /* a path that never ends */
	assert_false(shared_region_range(t.shared, id, &node));
	buffer_fini(&b);
	finish(&t);
}

static void memory_that_the_target_could_take_away_is_refused(void **state)
{
	int fd = memfd_create("region", MFD_CLOEXEC);
	int sealable = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct shared_region *shared;
	struct test_region t;

	(void)state;
	test_region_init(&t);
	assert_int_equal(write(fd, t.header, t.size), t.size);
	assert_int_equal(write(sealable, t.header, t.size), t.size);
	assert_int_equal(shared_region_open(fd, &shared), -EPERM);
	assert_int_equal(shared_region_open(sealable, &shared), -EPERM);
	assert_int_equal(fcntl(sealable, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(shared_region_open(sealable, &shared), 0);
	assert_int_equal(ftruncate(sealable, 0), -1);
	shared_region_close(shared);
	close(fd);
	close(sealable);
	test_region_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_come_before_what_they_caused),
		cmocka_unit_test(ring_goes_round_and_what_it_drops_is_counted),
		cmocka_unit_test(record_that_is_not_finished_ends_the_reading),
		cmocka_unit_test(ring_that_makes_no_sense_is_given_up),
		cmocka_unit_test(header_that_makes_no_sense_is_refused),
		cmocka_unit_test(ids_out_of_range_are_refused),
		cmocka_unit_test(memory_that_the_target_could_take_away_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
