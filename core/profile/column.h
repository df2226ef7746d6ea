/*
 * What the columns of a profile count. Values of different columns are never added: their units
 * differ, or they would count one thing twice. Code that sums samples therefore chooses a column
 * first.
 */
#ifndef SPROF_COLUMN_H
#define SPROF_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct fact_event;

/* The unit of a value. */
enum column_unit {
	UNIT_NS = 0,
	UNIT_COUNT = 1,
	UNIT_BYTES = 2,
};

struct column_info {
	const char *name;   /* for --column and for machine-readable output: stable */
	const char *title;  /* for people */
	const char *events; /* what nr_events() counts, in the plural: "samples", "launches" */
	const char *event;  /* the same in the singular */
	uint8_t unit;	    /* enum column_unit */
	/*
	 * The column that counts this one's events: a column of counts with the same stacks,
	 * perhaps itself. CPU and wall-clock time have none (NR_COLUMNS): every sample is an event
	 * there.
	 */
	uint8_t counted_by;
	/*
	 * Every event is in the profile, not a sample of them: the numbers have no sampling error.
	 */
	bool exact;
	/*
	 * The values are sums that another profiler made, or of samples whose weights have nothing
	 * in common. Their number says nothing of the sampling error, so none is shown, as in exact
	 * columns.
	 */
	bool sums;
	const char *pprof_name; /* what pprof files call it; NULL: `name` */
};

/* What is the same in all profiles. */
extern const struct column_info column_table[NR_COLUMNS];

/* Is it memory that programs allocate: allocated, allocations, live or live-objects? */
static inline bool column_is_memory(uint64_t column)
{
	return column >= COLUMN_ALLOCATED && column <= COLUMN_LIVE_OBJECTS;
}

static inline bool column_is_event(uint64_t column)
{
	return column >= COLUMN_EVENT_1 && column <= COLUMN_EVENT_8;
}

/*
 * Returns what the profile says of a column: the row of the table above, but for the columns of
 * events their own names, and for memory that sprof has sampled that it consists of samples. Valid
 * as long as the profile.
 */
const struct column_info *column_info_of(const struct profile *p, unsigned int column);

/* Gives a column of events its name. What is not such a column, or no string, is left out. */
void column_name_event(struct profile *p, const struct fact_event *event);

/* Returns the column of the event that a user calls `name`, or NR_COLUMNS. */
unsigned int column_find_event(const struct profile *p, const char *name);

/* Returns the column of that name or pprof_name, or NR_COLUMNS. */
enum profile_column column_find(const char *name);

/* Returns what pprof files call the column. */
const char *column_pprof_name(const struct column_info *info);

/* Sets for each column whether the profile has samples in it. */
void columns_present(const struct profile *p, bool ret_present[NR_COLUMNS]);

/* CPU time, and the two columns of waits. */
bool column_is_part_of_wall(unsigned int column);
/*
 * Where samples of running threads and of waiting ones were taken together, their sum is wall-clock
 * time: adds that column, and makes it the one to show first. Other profiles stay as they are.
 */
void columns_add_wall(struct profile *p);

/*
 * Returns the column to show where the user names none: the one that an imported file asks for,
 * else CPU time where there is any, else the first column that has a sample.
 */
enum profile_column column_default(const struct profile *p);

/* Returns what that many events are called. */
const char *column_events_name(const struct column_info *info, uint64_t nr);

/*
 * Returns how many events of `column` a sample stands for; 0 where it belongs to another column.
 * The caller handles the weight in the column itself.
 */
static inline uint64_t column_events(const struct profile *p, enum profile_column column,
				     const struct profile_sample *s)
{
	uint8_t by = column_info_of(p, column)->counted_by;

	if (by == NR_COLUMNS)
		return s->column == column ? 1 : 0;
	return s->column == by ? s->weight : 0;
}

#endif
