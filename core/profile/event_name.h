/*
 * Names of perf events, as files of perf spell them, and the column that their samples belong to.
 */
#ifndef SPROF_EVENT_NAME_H
#define SPROF_EVENT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"

/* Is it the event that a user calls `want`? "cycles" stands for "cycles:u" and "cycles:P" too. */
bool event_name_is(const char *name, const char *want);

/*
 * The column of an event whose samples have periods of at most `max_period`, 0 = unknown. A period
 * is how far the event counted since the sample before: samples of COLUMN_CPU and COLUMN_EVENTS
 * weigh their period, samples of COLUMN_COUNT weigh 1.
 */
enum profile_column event_name_column(const char *name, uint64_t max_period);

#endif
