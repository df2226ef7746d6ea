/*
 * Modifiers follow the name after a colon (perf-list(1)). The colon within the name of a tracepoint
 * is told from that by the letters that modifiers have.
 */
#include "core/profile/event_name.h"

#include <string.h>

bool event_name_is(const char *name, const char *want)
{
	size_t n = strlen(want);

	if (!n || strncmp(name, want, n))
		return false;
	return !name[n] ||
	       (name[n] == ':' && strspn(name + n + 1, "ukhIGHpPSDWeb") == strlen(name + n + 1));
}

/* Does the event count the time on a CPU, in ns? */
static bool is_clock(const char *name)
{
	return event_name_is(name, "cpu-clock") || event_name_is(name, "task-clock");
}

enum profile_column event_name_column(const char *name, uint64_t max_period)
{
	if (max_period && is_clock(name))
		return COLUMN_CPU;
	return max_period > 1 ? COLUMN_EVENTS : COLUMN_COUNT;
}
