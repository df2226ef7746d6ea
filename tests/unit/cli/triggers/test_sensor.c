// BUILD: cli/triggers/sensor.c cli/triggers/trigger_state.c cli/triggers/trigger_spec.c
// BUILD: cli/options/duration.c cli/options/byte_size.c cli/options/whole_number.c
/* cli/triggers/sensor.c: what is read of processes, and of folders that stand for cgroups. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/triggers/sensor.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"

#define S 1000000000ull

static int enter(void **state)
{
	*state = mkdtemp(xstrdup("/tmp/test_sensor.XXXXXX"));
	return *state && !chdir(*state) ? 0 : -1;
}

static int leave(void **state)
{
	char *command = xasprintf("rm -r '%s'", (char *)*state);
	int status = chdir("/") || system(command);

	free(command);
	free(*state);
	return status;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct trigger_specs spec(const char *text)
{
	struct trigger_specs s = { 0 };

	assert_null(trigger_specs_add(&s, text));
	return s;
}

static void assert_says(const struct sensor *s, const char *text)
{
	struct buffer b = { 0 };

	sensor_describe(s, &b);
	assert_non_null(strstr(buffer_cstring(&b), text));
	buffer_fini(&b);
}

static void memory_of_a_cgroup(void **state)
{
	struct trigger_specs t = spec("memory=1M:2s");
	struct sensor s;

	put("memory.current", "1048577\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, *state), 0);
	assert_false(sensor_fires(&s, 10 * S));
	assert_false(sensor_fires(&s, 11 * S));
	assert_true(sensor_fires(&s, 12 * S));
	assert_says(&s, "has 1.0 MiB of memory");
	put("memory.current", "1048576\n");
	assert_false(sensor_fires(&s, 13 * S));
	sensor_close(&s);
	trigger_specs_fini(&t);
}

static void cpu_time_of_a_cgroup(void **state)
{
	struct trigger_specs t = spec("cpu=150%:2s");
	struct sensor s;

	put("cpu.stat", "usage_usec 1000000\nuser_usec 5\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, *state), 0);
	assert_false(sensor_fires(&s, 10 * S));
	put("cpu.stat", "usage_usec 2900000\nuser_usec 5\n");
	assert_false(sensor_fires(&s, 11 * S));
	put("cpu.stat", "usage_usec 4800000\nuser_usec 5\n");
	assert_true(sensor_fires(&s, 12 * S));
	assert_says(&s, "took 190.0% of a CPU");
	sensor_close(&s);
	trigger_specs_fini(&t);
}

static void kills_in_a_cgroup(void **state)
{
	struct trigger_specs t = spec("oom");
	struct sensor s;

	put("memory.events", "low 0\nhigh 0\nmax 4\noom 9\noom_kill 3\noom_group_kill 0\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, *state), 0);
	assert_false(sensor_fires(&s, 10 * S)); /* those were before */
	put("memory.events", "low 0\nhigh 0\nmax 4\noom 9\noom_kill 4\noom_group_kill 0\n");
	assert_true(sensor_fires(&s, 11 * S));
	assert_false(sensor_fires(&s, 12 * S));
	sensor_close(&s);
	trigger_specs_fini(&t);
}

static void a_cgroup_without_the_file_is_refused(void **state)
{
	static const char *const texts[] = { "cpu=1%", "memory=1M", "psi=io:1%", "oom" };

	for (size_t i = 0; i < 4; i++) {
		struct trigger_specs t = spec(texts[i]);
		struct buffer path = { 0 };
		struct sensor s;

		assert_int_equal(sensor_open(&s, &t.list[0], 0, *state), -ENOENT);
		sensor_add_path(&s, &path);
		assert_int_equal(strncmp(buffer_cstring(&path), *state, strlen(*state)), 0);
		buffer_fini(&path);
		sensor_close(&s);
		trigger_specs_fini(&t);
	}
}

static void nonsense_is_no_number(void **state)
{
	struct trigger_specs t = spec("memory=1M");
	struct sensor s;

	put("memory.current", "max\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, *state), -ENODATA);
	sensor_close(&s);
	trigger_specs_fini(&t);
}

/* Has the folder that was opened end as the kernel ends a cgroup: no open file of it has text. */
static void remove_group(const char *name, const char *file)
{
	char *path = xasprintf("%s/%s", name, file);

	put(path, "");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(name), 0);
	free(path);
}

static void a_cgroup_that_is_made_again_is_watched_again(void **state)
{
	struct trigger_specs t = spec("oom");
	char *group = xasprintf("%s/shop", (char *)*state);
	struct sensor s;

	put("memory.events", "oom 9\noom_kill 7\n");
	assert_int_equal(mkdir("shop", 0755), 0);
	put("shop/memory.events", "oom 1\noom_kill 1\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, group), 0);
	assert_false(sensor_fires(&s, 10 * S));
	remove_group("shop", "memory.events");
	assert_false(sensor_fires(&s, 11 * S));
	assert_int_equal(s.fd, -1);
	assert_false(sensor_fires(&s, 12 * S));
	assert_int_equal(mkdir("shop", 0755), 0);
	assert_false(sensor_fires(&s, 13 * S)); /* its controllers come later */
	put("shop/memory.events", "oom 5\noom_kill 5\n");
	assert_false(sensor_fires(&s, 14 * S)); /* those were before */
	assert_true(s.fd >= 0);
	put("shop/memory.events", "oom 6\noom_kill 6\n");
	assert_true(sensor_fires(&s, 15 * S));
	assert_says(&s, "in cgroup ");
	sensor_close(&s);
	free(group);
	trigger_specs_fini(&t);
}

static void cpu_time_of_a_cgroup_that_is_made_again_begins_anew(void **state)
{
	struct trigger_specs t = spec("cpu=150%:2s");
	char *group = xasprintf("%s/shop", (char *)*state);
	struct sensor s;

	assert_int_equal(mkdir("shop", 0755), 0);
	put("shop/cpu.stat", "usage_usec 1000000\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, group), 0);
	assert_false(sensor_fires(&s, 10 * S));
	remove_group("shop", "cpu.stat");
	assert_false(sensor_fires(&s, 11 * S));
	assert_int_equal(mkdir("shop", 0755), 0);
	put("shop/cpu.stat", "usage_usec 9000000\n");
	assert_false(sensor_fires(&s, 12 * S));
	put("shop/cpu.stat", "usage_usec 10900000\n");
	assert_false(sensor_fires(&s, 13 * S));
	put("shop/cpu.stat", "usage_usec 12800000\n");
	assert_true(sensor_fires(&s, 14 * S));
	assert_says(&s, "took 190.0% of a CPU");
	sensor_close(&s);
	free(group);
	trigger_specs_fini(&t);
}

static void the_kill_that_removes_its_cgroup_fires(void **state)
{
	struct trigger_specs t = spec("oom");
	char *group = xasprintf("%s/shop", (char *)*state);
	struct sensor s;

	put("memory.events", "oom_kill 7\n");
	assert_int_equal(mkdir("shop", 0755), 0);
	put("shop/memory.events", "oom_kill 0\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, group), 0);
	assert_false(sensor_fires(&s, 10 * S));
	put("memory.events", "oom_kill 8\n");
	remove_group("shop", "memory.events");
	assert_true(sensor_fires(&s, 11 * S));
	assert_says(&s, "/shop, which is gone, or next to it");
	sensor_close(&s);
	free(group);
	trigger_specs_fini(&t);
}

static void a_kill_next_to_a_cgroup_does_not_fire(void **state)
{
	struct trigger_specs t = spec("oom");
	char *group = xasprintf("%s/shop", (char *)*state);
	struct sensor s;

	put("memory.events", "oom_kill 7\n");
	assert_int_equal(mkdir("shop", 0755), 0);
	put("shop/memory.events", "oom_kill 0\n");
	assert_int_equal(sensor_open(&s, &t.list[0], 0, group), 0);
	put("memory.events", "oom_kill 8\n");
	assert_false(sensor_fires(&s, 10 * S)); /* while it is there */
	remove_group("shop", "memory.events");
	assert_false(sensor_fires(&s, 11 * S)); /* at a look before */
	put("memory.events", "oom_kill 9\n");
	assert_false(sensor_fires(&s, 12 * S)); /* after it has gone */
	sensor_close(&s);
	free(group);
	trigger_specs_fini(&t);
}

static void a_process_that_has_ended_fires_no_more(void **state)
{
	struct trigger_specs cpu = spec("cpu=1%:1s"), memory = spec("memory=1K");
	pid_t pid = fork();
	struct sensor s, m;
	bool fires = false;

	(void)state;
	if (!pid)
		for (;;)
			;
	assert_int_equal(sensor_open(&s, &cpu.list[0], pid, NULL), 0);
	assert_int_equal(sensor_open(&m, &memory.list[0], pid, NULL), 0);
	assert_true(sensor_fires(&m, S));
	assert_says(&m, "process ");
	for (uint64_t t = 1; t < 50 && !fires; t++, usleep(100000))
		fires = sensor_fires(&s, t * S);
	assert_true(fires);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(sensor_fires(&s, 100 * S));
	assert_int_equal(s.fd, -1);
	assert_false(sensor_fires(&s, 101 * S)); /* and is not looked for */
	assert_int_equal(s.fd, -1);
	sensor_close(&s);
	sensor_close(&m);
	trigger_specs_fini(&cpu);
	trigger_specs_fini(&memory);
}

/* For 50 ms, where that is not enough already. */
static void keep_busy(bool is_enough)
{
	uint64_t end = monotonic_ns() + S / 20;

	while (!is_enough && monotonic_ns() < end)
		;
}

static void the_machine_can_be_watched(void **state)
{
	static const char *const texts[] = { "cpu=0.0001%:1s", "memory=1M", "oom" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct trigger_specs t = spec(texts[i]);
		struct sensor s;

		assert_int_equal(sensor_open(&s, &t.list[0], 0, NULL), 0);
		for (uint64_t k = 1; k < (i < 2 ? 50 : 3) && !s.state.has_fired; k++)
			keep_busy(sensor_fires(&s, k * S));
		assert_int_equal(s.state.has_fired, i < 2);
		sensor_close(&s);
		trigger_specs_fini(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, enter, leave)
		IN_DIRECTORY(memory_of_a_cgroup),
		IN_DIRECTORY(cpu_time_of_a_cgroup),
		IN_DIRECTORY(kills_in_a_cgroup),
		IN_DIRECTORY(a_cgroup_without_the_file_is_refused),
		IN_DIRECTORY(nonsense_is_no_number),
		IN_DIRECTORY(a_cgroup_that_is_made_again_is_watched_again),
		IN_DIRECTORY(cpu_time_of_a_cgroup_that_is_made_again_begins_anew),
		IN_DIRECTORY(the_kill_that_removes_its_cgroup_fires),
		IN_DIRECTORY(a_kill_next_to_a_cgroup_does_not_fire),
		IN_DIRECTORY(a_process_that_has_ended_fires_no_more),
		IN_DIRECTORY(the_machine_can_be_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
