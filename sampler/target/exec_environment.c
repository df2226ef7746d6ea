/*
 * The kernel lays the strings out one after the other and says where in /proc/self/stat. The
 * dynamic linker drops pointers from environ and leaves the strings as they are.
 */
#include "sampler/target/exec_environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/proc_status.h"

#define STATE_FIELD 3 /* the first field behind the name, see proc_pid_stat(5) */
#define ENVIRONMENT_START_FIELD 50

struct environment {
	const char *start, *end;
};

static bool find(struct environment *ret)
{
	char text[2048], *at, *end;
	int field = STATE_FIELD;

	proc_text(text, sizeof(text), "/proc/self/stat");
	at = strrchr(text, ')'); /* the name before it may hold any byte */
	for (; at && field <= ENVIRONMENT_START_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	ret->start = (const char *)(uintptr_t)strtoull(at, &end, 10);
	ret->end = (const char *)(uintptr_t)strtoull(end, NULL, 10);
	/* Both are 0 where the kernel hides them. */
	return ret->start && ret->start < ret->end && !ret->end[-1];
}

char **exec_environment(void)
{
	struct environment e;
	size_t nr = 0, capacity = 0;
	char **all = NULL;

	if (!find(&e))
		return NULL;
	for (const char *at = e.start; at < e.end; at += strlen(at) + 1) {
		all = xgrow(all, &capacity, nr + 2, sizeof(*all));
		all[nr++] = (char *)at;
	}
	all[nr] = NULL;
	return all;
}

const char *exec_environment_value(const char *name)
{
	size_t length = strlen(name);
	struct environment e;

	if (!find(&e))
		return getenv(name);
	for (const char *at = e.start; at < e.end; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}
