/*
 * -e names a clock, which times the samples, and events to be counted, each of which gets a column.
 * "cycles" alone is a clock; in a list, or with a period, it is counted, so that instructions per
 * cycle can be shown.
 */
#include "cli/options/event_specs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/options/whole_number.h"
#include "core/profile/source.h"

#define MAX_PERIOD (1ull << 40)

uint64_t event_specs_period(const char *text)
{
	uint64_t period;

	return whole_number_parse(text, MAX_PERIOD, &period) ? period : 0;
}

/* Returns the clock of that name as a constant, or NULL. */
static const char *find_clock(const char *name, bool alone)
{
	if (!strcmp(name, "auto"))
		return "auto";
	if (!strcmp(name, "cpu-clock") || !strcmp(name, "task-clock"))
		return "cpu-clock";
	return alone && !strcmp(name, "cycles") ? "cycles" : NULL;
}

static const char *add_counted(const char *name, uint64_t period, struct source_events *events)
{
	struct source_event *e = &events->list[events->nr];

	for (size_t i = 0; i < events->nr; i++)
		if (!strcmp(events->list[i].name, name))
			return "an event is named twice";
	if (events->nr == NR_EVENT_COLUMNS)
		return "at most 8 events at a time";
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->period = period;
	events->nr++;
	return NULL;
}

static const char *add_event(char *item, bool alone, const char **clock,
			     struct source_events *events)
{
	char *at = strchr(item, '@');
	const char *found;
	uint64_t period = 0;

	if (at) {
		*at = '\0';
		period = event_specs_period(at + 1);
		if (!period)
			return "a period is a number of events, 1 or more";
	}
	if (!*item)
		return "a list of events, with commas, is expected";
	found = find_clock(item, alone && !at);
	if (!found)
		return add_counted(item, period, events);
	if (period)
		return "the clock takes a frequency (--freq), not a period";
	if (*clock)
		return "one clock at a time";
	*clock = found;
	return NULL;
}

/* The length of the first item; a comma between the slashes of a PMU's event ends no item. */
static size_t item_length(const char *text)
{
	bool inside = false;
	size_t n = 0;

	for (; text[n] && (inside || text[n] != ','); n++)
		if (text[n] == '/')
			inside = !inside;
	return n;
}

const char *event_specs_parse(const char *text, const char **ret_clock,
			      struct source_events *ret_events)
{
	struct source_events events = { 0 };
	const char *clock = NULL, *wrong = NULL;
	bool alone = !text[item_length(text)];

	for (const char *at = text;; at++) {
		size_t length = item_length(at);
		char item[EVENT_NAME_MAX + 1];

		if (length >= sizeof(item))
			return "the name of an event is too long";
		memcpy(item, at, length);
		item[length] = '\0';
		wrong = add_event(item, alone, &clock, &events);
		at += length;
		if (wrong || !*at)
			break;
	}
	if (wrong)
		return wrong;
	events.alone = !clock;
	*ret_clock = clock ? clock : "cpu-clock";
	*ret_events = events;
	return NULL;
}

bool event_specs_set_period(uint64_t period, const char **clock, struct source_events *events)
{
	if (!period)
		return true;
	if (!strcmp(*clock, "cycles")) {
		event_specs_parse("cycles@1", clock, events);
		events->list[0].period = period;
	}
	for (size_t i = 0; i < events->nr; i++)
		if (!events->list[i].period)
			events->list[i].period = period;
	return events->nr > 0;
}
