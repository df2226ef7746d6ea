/* Finds the children of a process, for tests that kill one. */
#ifndef SPROF_TESTS_CHILD_H
#define SPROF_TESTS_CHILD_H

#include <stdio.h>
#include <sys/types.h>

#include "tests/unit/unit.h"

/* The first child of a process; 0: it has none. */
static inline pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	if (fscanf(f, "%d", &child) != 1)
		child = 0;
	fclose(f);
	return child;
}

#endif
