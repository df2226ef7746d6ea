/* Ticks become nanoseconds (gpu/agent/base/clock.c) while another thread calibrates the clock. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "gpu/agent/base/state.h"
#include "gpu/agent/base/clock.c"

#define NR_TICKS 2000000
#define NR_KEPT 1000
#define ERROR_NS 2000 /* of a time from ticks, where nothing comes in between */

struct agent agent; /* without a region the clock publishes nothing */

static uint32_t is_done; /* atomic */

static void *calibrate_often(void *arg)
{
	const struct timespec pause = { 0, 2000000 };

	while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED)) {
		clock_calibrate();
		nanosleep(&pause, NULL);
	}
	return arg;
}

static pthread_t begin(void)
{
	pthread_t thread;

	__atomic_store_n(&is_done, 0, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, calibrate_often, NULL), 0);
	return thread;
}

static void end(pthread_t thread)
{
	__atomic_store_n(&is_done, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* Else a call would seem to begin before the thread's last one ended. */
static void time_never_goes_back(void **state)
{
	uint64_t before = 0, back = 0;
	pthread_t thread;

	(void)state;
	clock_calibrate_first();
	knots[(nr_knots - 1) % NR_KNOTS].factor += 1u << 20;
	thread = begin();
	for (int i = 0; i < NR_TICKS; i++) {
		uint64_t ns = clock_ticks_to_ns(clock_ticks());

		back += ns < before;
		before = ns;
	}
	end(thread);
	assert_int_equal(back, 0);
}

/* The start of a long call is converted only when the call ends. */
static void a_moment_has_one_time_whenever_it_is_asked(void **state)
{
	const struct timespec pause = { 0, 30000 };
	uint64_t *ticks = calloc(NR_KEPT, sizeof(*ticks)), *ns = calloc(NR_KEPT, sizeof(*ns));
	uint64_t others = 0;
	pthread_t thread;

	(void)state;
	assert_non_null(ticks);
	assert_non_null(ns);
	clock_calibrate_first();
	thread = begin();
	for (int i = 0; i < NR_KEPT; i++) {
		ticks[i] = clock_ticks();
		ns[i] = clock_ticks_to_ns(ticks[i]);
		nanosleep(&pause, NULL);
		others += i >= 100 && clock_ticks_to_ns(ticks[i - 100]) != ns[i - 100];
	}
	end(thread);
	free(ticks);
	free(ns);
	assert_int_equal(others, 0);
}

static void the_time_is_that_of_the_monotonic_clock(void **state)
{
	uint64_t nearest = UINT64_MAX;
	pthread_t thread;

	(void)state;
	clock_calibrate_first();
	thread = begin();
	for (int i = 0; i < 1000; i++) {
		uint64_t from = clock_now_ns(), ns = clock_ticks_to_ns(clock_ticks()),
			 to = clock_now_ns(),
			 off = ns < from ? from - ns
			       : ns > to ? ns - to
					 : 0;

		nearest = off < nearest ? off : nearest;
	}
	end(thread);
	assert_in_range(nearest, 0, ERROR_NS);
}

/* As after the machine has slept. */
static void a_clock_that_is_far_off_is_set(void **state)
{
	const struct timespec pause = { 0, 2000000 };
	uint64_t now;

	(void)state;
	clock_calibrate_first();
	knots[(nr_knots - 1) % NR_KNOTS].ns -= 5000000000u;
	clock_calibrate();
	nanosleep(&pause, NULL);
	now = clock_now_ns();
	assert_in_range(clock_ticks_to_ns(clock_ticks()), now - ERROR_NS, now + 1000000000u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_never_goes_back),
		cmocka_unit_test(a_moment_has_one_time_whenever_it_is_asked),
		cmocka_unit_test(the_time_is_that_of_the_monotonic_clock),
		cmocka_unit_test(a_clock_that_is_far_off_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
