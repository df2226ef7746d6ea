/* sampler/events: counters of a CPU that there are too few of, from descriptors that say so. */
// BUILD: -Wl,--wrap=syscall
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/profile/source.h"
#include "sampler/events/counted_events.h"

/* As read(2) has it with the two times. */
struct times {
	uint64_t value, enabled, running;
};

static char said[1024];
static int cpus_opened, refused;

long __wrap_syscall(long number, const struct perf_event_attr *attr, int pid, int cpu, int group,
		    unsigned long flags);

/* An event of each CPU: cache misses were counted for 60 ns of 100 ns, all others all the time. */
long __wrap_syscall(long number, const struct perf_event_attr *attr, int pid, int cpu, int group,
		    unsigned long flags)
{
	bool shared = attr->config == PERF_COUNT_HW_CACHE_MISSES;
	const struct times times = { 7, 100, shared ? 60 : 100 };
	int fd;

	(void)pid;
	(void)group;
	(void)flags;
	assert_int_equal(number, SYS_perf_event_open);
	if (refused && (refused != ENOENT || cpu)) {
		errno = refused;
		return -1;
	}
	cpus_opened++;
	fd = memfd_create("event", MFD_CLOEXEC);
	assert_int_equal(attr->read_format,
			 PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	assert_int_equal(pwrite(fd, &times, sizeof(times), 0), sizeof(times));
	return fd;
}

static void keep_line(void *context, const char *line)
{
	size_t n = strlen(said);

	(void)context;
	snprintf(said + n, sizeof(said) - n, "%s\n", line);
}

static void an_event_that_shared_its_counter_is_named(void **state)
{
	const struct source_events events = {
		.list = { { .name = "instructions", .period = 1000 },
			  { .name = "cache-misses", .period = 1000 },
			  { .name = "page-faults", .period = 1 } },
		.nr = 3,
	};
	struct counted_events *e;

	(void)state;
	assert_int_equal(counted_events_new(&events, 99, &e), 0);
	log_set_relay(keep_line, NULL);
	counted_events_report(e);
	counted_events_report(NULL);
	log_set_relay(NULL, NULL);
	counted_events_free(e);
	assert_non_null(strstr(said, "'cache-misses' was counted for 60 % of the time"));
	assert_null(strstr(said, "instructions"));
	assert_null(strstr(said, "page-faults"));
}

static int new_events(int error)
{
	const struct source_events events = {
		.list = { { .name = "instructions", .period = 1000 } },
		.nr = 1,
	};
	struct counted_events *e;
	int err;

	refused = error;
	cpus_opened = 0;
	log_set_relay(keep_line, NULL);
	err = counted_events_new(&events, 99, &e);
	log_set_relay(NULL, NULL);
	refused = 0;
	if (!err)
		counted_events_free(e);
	return err;
}

/* CPUs of two kinds in one machine do not count the same events. */
static void an_event_is_counted_on_the_cpus_that_have_it(void **state)
{
	(void)state;
	assert_int_equal(new_events(ENOENT), 0);
	assert_int_equal(cpus_opened, 1);
	assert_int_equal(new_events(EACCES), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_shared_its_counter_is_named),
		cmocka_unit_test(an_event_is_counted_on_the_cpus_that_have_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
