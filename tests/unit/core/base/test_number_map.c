/* core/base/number_map.c: what was put in is found, also of keys that were chosen to collide. */
#include "tests/unit/unit.h"

#include <time.h>

#include "core/base/number_map.h"

#define NR 40000u

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Puts in NR keys, finds them again, and returns the CPU time of that. */
static uint64_t time_of(uint64_t (*key)(uint32_t))
{
	struct number_map map = { 0 };
	uint64_t begin = cpu_ns(), took;
	bool is_new;

	for (uint32_t i = 0; i < NR; i++) {
		*number_map_at(&map, key(i), &is_new) = i;
		assert_true(is_new);
	}
	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(*number_map_at(&map, key(i), &is_new), i);
		assert_false(is_new);
	}
	took = cpu_ns() - begin;
	assert_int_equal(map.nr, NR);
	number_map_fini(&map);
	return took;
}

static uint64_t in_order(uint32_t i)
{
	return i;
}

/*
 * Keys that all have the first slot 0 where the hash is h ^ h >> 32 of h = key * factor: the
 * factor's inverse times numbers whose halves are equal.
 */
static uint64_t colliding(uint32_t i)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t inverse = factor;

	for (int k = 0; k < 6; k++) /* Newton: each step doubles the bits that are right */
		inverse *= 2 - factor * inverse;
	return ((uint64_t)(i + 1) << 32 | (i + 1)) * inverse;
}

static void keys_that_somebody_chose_are_found_as_fast_as_others(void **state)
{
	uint64_t usual, chosen;

	(void)state;
	usual = time_of(in_order);
	chosen = time_of(colliding);
	assert_true(chosen < 50 * usual + 20000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_somebody_chose_are_found_as_fast_as_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
