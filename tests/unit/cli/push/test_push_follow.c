// BUILD: cli/push/push_follow.c -Wl,--wrap=clock_gettime -Wl,--wrap=privileges_only_read
/* cli/push/push_follow.c: the time of day of the parts in which a recording is pushed. */
#include "tests/unit/recording.h"

#include <errno.h>
#include <time.h>

#include "cli/input/load.h"
#include "cli/push/push_follow.h"
#include "cli/push/push_record_opts.h"
#include "cli/push/request_pipe.h"
#include "core/base/clock.h"
#include "core/profile/profile.h"

#define HOUR_S 3600

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
void __wrap_privileges_only_read(void);

static struct recfile *file;
static int control[2];
static int64_t step_s;	/* that the time of day makes after the first part */
static int64_t ahead_s; /* of the time of day */
static struct profile_meta parts[2];
static size_t nr_parts;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int err = __real_clock_gettime(clock, time);

	if (!err && clock == CLOCK_REALTIME)
		time->tv_sec += ahead_s;
	return err;
}

/* The test itself needs other system calls afterwards. */
void __wrap_privileges_only_read(void)
{
}

int profile_load(const char *path, const struct load_opts *opts, struct profile **ret_profile)
{
	(void)path;
	(void)opts;
	(void)ret_profile;
	return -ENOENT;
}

/* Stands in for the pipe to the sender. After the first part the recorder writes the rest. */
int request_pipe_write(int fd, const struct profile *p, const struct receiver *receiver,
		       const struct push_labels *labels)
{
	(void)fd;
	(void)receiver;
	(void)labels;
	assert_int_equal(p->nr_samples, 3);
	assert_true(nr_parts < 2);
	parts[nr_parts++] = p->meta;
	if (nr_parts == 1) {
		ahead_s = step_s;
		record_samples(recfile_sink(file), 3, 3);
		assert_int_equal(recfile_finish(file, NULL, monotonic_ns()), 0);
		close(control[1]);
	}
	return 0;
}

static void assert_near(uint64_t time_ns, uint64_t expected_ns)
{
	assert_in_range(time_ns, expected_ns - NS_PER_S, expected_ns + NS_PER_S);
}

/* Pushes a recording in two parts. Between them the time of day makes a step. */
static void push_across_a_step(int64_t seconds)
{
	const struct push_record_opts opts = { .every_ns = 20 * NS_PER_MS };
	struct recfile_meta meta = test_meta;
	uint64_t expected_ns;

	nr_parts = 0;
	ahead_s = 0;
	step_s = seconds;
	meta.start_ns = monotonic_ns();
	meta.start_realtime_ns = realtime_ns();
	assert_int_equal(recfile_create("x.data", &meta, &file), 0);
	record_samples(recfile_sink(file), 0, 3);
	assert_int_equal(recfile_flush(file), 0);
	assert_int_equal(pipe(control), 0);
	assert_int_equal(write(control[1], "x.data", 7), 7);
	assert_int_equal(push_follow(&opts, control[0], -1), 0);
	close(control[0]);
	recfile_free(file);
	assert_int_equal(nr_parts, 2);
	assert_int_equal(parts[0].start_ns, meta.start_ns);
	assert_near(parts[0].start_realtime_ns, meta.start_realtime_ns);
	assert_int_equal(parts[1].start_ns, parts[0].end_ns);
	expected_ns = meta.start_realtime_ns + parts[1].start_ns - meta.start_ns;
	assert_near(parts[1].start_realtime_ns, expected_ns + (uint64_t)seconds * NS_PER_S);
}

/* CLOCK_MONOTONIC, by which a recording counts, stands still meanwhile. */
static void a_part_has_the_time_of_day_after_the_machine_has_slept(void **state)
{
	(void)state;
	push_across_a_step(8 * HOUR_S);
}

static void a_part_has_the_time_of_day_after_the_clock_was_set_back(void **state)
{
	(void)state;
	push_across_a_step(-HOUR_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_DIRECTORY(test)                                                                         \
	cmocka_unit_test_setup_teardown(test, enter_new_directory, remove_directory)
		IN_DIRECTORY(a_part_has_the_time_of_day_after_the_machine_has_slept),
		IN_DIRECTORY(a_part_has_the_time_of_day_after_the_clock_was_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
