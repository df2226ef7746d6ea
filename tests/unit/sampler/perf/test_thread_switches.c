/* Whether a thread stood still between its sample and the reading of its memory. */
#include "tests/unit/unit.h"

#include <malloc.h>

#include "sampler/perf/thread_switches.h"

#define US 1000ull
#define SAMPLED (1000 * 1000 * US)
#define TID 7

/* Was the thread, which switched as given, still from the sample to 80 us later? */
static bool is_still(struct thread_switches *s)
{
	bool still = thread_stood_still(s, TID, SAMPLED, SAMPLED + 80 * US, false);

	thread_switches_free(s);
	return still;
}

static struct thread_switches *with(uint64_t out_us, enum thread_switch how, uint64_t in_us)
{
	struct thread_switches *s = thread_switches_new();

	thread_switches_add(s, TID, SAMPLED - 500 * US, SWITCH_IN);
	thread_switches_add(s, TID, SAMPLED + in_us * US, SWITCH_IN); /* not in order */
	thread_switches_add(s, TID, SAMPLED + out_us * US, how);
	return s;
}

static void a_thread_that_lost_its_cpu_at_once_stood_still(void **state)
{
	(void)state;
	assert_true(is_still(with(30, SWITCH_PREEMPTED, 90)));
}

static void a_thread_that_came_back_before_the_end_did_not(void **state)
{
	(void)state;
	assert_false(is_still(with(30, SWITCH_PREEMPTED, 79)));
}

static void a_thread_that_gave_up_its_cpu_itself_had_run_on(void **state)
{
	(void)state;
	assert_false(is_still(with(30, SWITCH_OUT, 90)));
}

static void a_thread_that_lost_its_cpu_late_had_run_on(void **state)
{
	struct thread_switches *s = with(900, SWITCH_PREEMPTED, 1000);

	(void)state;
	assert_false(thread_stood_still(s, TID, SAMPLED, SAMPLED + 950 * US, false));
	thread_switches_free(s);
}

/* Another process got its CPU: only how soon that was says that it was the sample's doing. */
static void a_thread_that_is_read_late_must_have_lost_its_cpu_sooner(void **state)
{
	struct thread_switches *soon = with(50, SWITCH_PREEMPTED, 20000);
	struct thread_switches *later = with(70, SWITCH_PREEMPTED, 20000);

	(void)state;
	assert_true(thread_stood_still(soon, TID, SAMPLED, SAMPLED + 19000 * US, true));
	assert_false(thread_stood_still(soon, TID, SAMPLED, SAMPLED + 21000 * US, true));
	assert_true(thread_stood_still(later, TID, SAMPLED, SAMPLED + 19000 * US, false));
	assert_false(thread_stood_still(later, TID, SAMPLED, SAMPLED + 19000 * US, true));
	thread_switches_free(soon);
	thread_switches_free(later);
}

static void a_thread_that_is_not_known_to_have_stopped_ran_on(void **state)
{
	struct thread_switches *s = thread_switches_new();

	(void)state;
	assert_false(thread_stood_still(s, TID, SAMPLED, SAMPLED + 80 * US, false));
	thread_switches_add(s, TID, SAMPLED - 10 * US, SWITCH_PREEMPTED);
	assert_false(is_still(s));
}

static void switches_of_another_thread_do_not_count(void **state)
{
	struct thread_switches *s = with(30, SWITCH_PREEMPTED, 90);

	(void)state;
	thread_switches_add(s, TID + 1, SAMPLED + 40 * US, SWITCH_IN);
	thread_switches_forget(s, TID + 1);
	assert_true(is_still(s));
}

/* A switch that was dropped might have been one back to the CPU. */
static void a_thread_with_more_switches_than_are_kept_ran_on(void **state)
{
	struct thread_switches *s = with(30, SWITCH_PREEMPTED, 90);

	(void)state;
	for (uint64_t i = 0; i < 20000; i++)
		thread_switches_add(s, TID, SAMPLED + (100 + i) * US, SWITCH_IN);
	assert_false(is_still(s));
}

static void switches_before_handled_samples_make_room(void **state)
{
	struct thread_switches *s = thread_switches_new();

	(void)state;
	for (uint64_t i = 0; i < 20000; i++)
		thread_switches_add(s, TID, i * US, i % 2 ? SWITCH_OUT : SWITCH_IN);
	thread_switches_handled(s, SAMPLED - US);
	for (uint64_t i = 0; i < 20000; i++)
		thread_switches_add(s, TID, (30000 + i) * US, i % 2 ? SWITCH_OUT : SWITCH_IN);
	thread_switches_add(s, TID, SAMPLED + 30 * US, SWITCH_PREEMPTED);
	assert_true(is_still(s));
}

static void switches_that_are_not_needed_take_no_memory(void **state)
{
	struct thread_switches *s = thread_switches_new();
	size_t before = mallinfo2().uordblks;

	(void)state;
	for (uint64_t i = 0; i < 16000; i++) {
		for (pid_t tid = 1; tid <= 300; tid++)
			thread_switches_add(s, tid, SAMPLED + i * 100 * US, SWITCH_IN);
		thread_switches_handled(s, SAMPLED + (i > 50 ? i - 50 : 0) * 100 * US);
	}
	/* of 300 threads 50 switches each are needed, of 8 bytes */
	assert_in_range(mallinfo2().uordblks - before, 0, 300 * 4096);
	thread_switches_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_lost_its_cpu_at_once_stood_still),
		cmocka_unit_test(a_thread_that_came_back_before_the_end_did_not),
		cmocka_unit_test(a_thread_that_gave_up_its_cpu_itself_had_run_on),
		cmocka_unit_test(a_thread_that_lost_its_cpu_late_had_run_on),
		cmocka_unit_test(a_thread_that_is_read_late_must_have_lost_its_cpu_sooner),
		cmocka_unit_test(a_thread_that_is_not_known_to_have_stopped_ran_on),
		cmocka_unit_test(switches_of_another_thread_do_not_count),
		cmocka_unit_test(a_thread_with_more_switches_than_are_kept_ran_on),
		cmocka_unit_test(switches_before_handled_samples_make_room),
		cmocka_unit_test(switches_that_are_not_needed_take_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
