/* sampler/perf: which event is the clock. On this host each event can be opened. */
// BUILD: -Wl,--wrap=syscall
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "sampler/perf/task_events.h"

static struct perf_event_attr opened;

long __wrap_syscall(long number, const struct perf_event_attr *attr, int pid, int cpu, int group,
		    unsigned long flags);

long __wrap_syscall(long number, const struct perf_event_attr *attr, int pid, int cpu, int group,
		    unsigned long flags)
{
	(void)pid;
	(void)cpu;
	(void)group;
	(void)flags;
	assert_int_equal(number, SYS_perf_event_open);
	opened = *attr;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct perf_events *clock_called(const char *name)
{
	struct perf_events *e;

	assert_int_equal(perf_events_new(name, 99, &e), 0);
	return e;
}

static void cycles_are_the_clock_only_where_they_are_asked_for(void **state)
{
	struct perf_events *e = clock_called("auto");

	(void)state;
	assert_string_equal(perf_events_name(e), "cpu-clock");
	assert_int_equal(opened.type, PERF_TYPE_SOFTWARE);
	perf_events_free(e);
	e = clock_called("cycles");
	assert_string_equal(perf_events_name(e), "cycles");
	assert_int_equal(opened.type, PERF_TYPE_HARDWARE);
	assert_int_equal(opened.exclude_idle, 0);
	perf_events_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cycles_are_the_clock_only_where_they_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
