/* Programs of tests/targets that are stopped while they work. */
#ifndef SPROF_TESTS_STOPPED_TARGET_H
#define SPROF_TESTS_STOPPED_TARGET_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/unit/traced.h"
#include "tests/unit/unit.h"

/* Did it stop in code of its own? On a busy machine it often stops where it asks for the time. */
static inline bool stopped_in_own_code(const struct traced *traced, const char *path)
{
	const struct traced_map *map = traced_find_map(traced, traced->regs.pc);
	struct stat st;

	return map && map->module && !stat(path, &st) &&
	       traced->modules[map->module - 1].ino == st.st_ino;
}

/* The end of it is the caller's: traced_end(). The argument may be NULL. */
static inline struct snapshot_sample stop_target(struct traced *traced, const char *name,
						 const char *argument)
{
	const char *directory = getenv("TARGETS");
	char path[4096];
	char *argv[] = { path, (char *)"20000", (char *)argument, NULL };
	struct timespec used;
	clockid_t clock;

	if (!directory) {
		print_message("TARGETS is not set: run it by make check\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_true(traced_start(traced, argv));
	/* On a busy machine it takes a while until it works. */
	assert_int_equal(clock_getcpuclockid(traced->pid, &clock), 0);
	do {
		assert_true(traced_run(traced, 20000));
		assert_int_equal(clock_gettime(clock, &used), 0);
	} while (!used.tv_sec && used.tv_nsec < 50000000);
	assert_true(traced_capture(traced));
	for (int i = 0; i < 100 && !stopped_in_own_code(traced, path); i++) {
		assert_true(traced_run(traced, 5000));
		assert_true(traced_capture(traced));
	}
	return traced_sample(traced);
}

#endif
