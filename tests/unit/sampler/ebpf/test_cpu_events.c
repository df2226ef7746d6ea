/* sampler/ebpf: which event is the clock. On this host each event can be opened. */
// BUILD: -Wl,--wrap=syscall
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "sampler/ebpf/cpu_events.h"

static struct perf_event_attr opened;
static int nr_opened;

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
	nr_opened++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct cpu_events *clock_called(const char *name)
{
	struct cpu_events *e;

	nr_opened = 0;
	memset(&opened, 0, sizeof(opened));
	assert_int_equal(cpu_events_new(name, 99, &e), 0);
	return e;
}

/* The kernel takes as many samples of cycles in a second in which the CPU is mostly idle. */
static void cycles_are_the_clock_only_where_they_are_asked_for(void **state)
{
	static const char *const timers[] = { "auto", "cpu-clock" };
	struct cpu_events *e;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		e = clock_called(timers[i]);
		assert_string_equal(cpu_events_name(e), "cpu-clock");
		assert_int_equal(nr_opened, 0);
		cpu_events_free(e);
	}
	e = clock_called("cycles");
	assert_string_equal(cpu_events_name(e), "cycles");
	cpu_events_free(e);
}

/* PMUs of other CPUs refuse an event that leaves out what they cannot leave out. */
static void cycles_leave_nothing_out(void **state)
{
	(void)state;
	cpu_events_free(clock_called("cycles"));
	assert_int_equal(nr_opened, 1);
	assert_int_equal(opened.type, PERF_TYPE_HARDWARE);
	assert_int_equal(opened.exclude_idle, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cycles_are_the_clock_only_where_they_are_asked_for),
		cmocka_unit_test(cycles_leave_nothing_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
