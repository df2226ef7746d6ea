/*
 * What the columns of a profile count. Values of different columns are never added: their units
 * differ, or one thing would count twice. So code that sums samples chooses a column first.
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
	/* Every event is in the profile, not a sample of them, so there is no sampling error. */
	bool exact;
	/*
	 * The values are sums that another profiler made, or samples with unrelated weights. Their
	 * number says nothing of the sampling error, so none is shown, as in exact columns.
	 */
	bool sums;
	const char *pprof_name; /* what pprof files call it; NULL: `name` */
};

/* The rows that are the same in all profiles; column_info_of() also knows the others. */
extern const struct column_info column_table[NR_COLUMNS];

/* ---- memory: four columns for each kind of memory */

/* The place of a column among the four of its kind. */
enum memory_part {
	MEMORY_ALLOCATED = 0,
	MEMORY_ALLOCATIONS = 1,
	MEMORY_LIVE = 2,
	MEMORY_LIVE_OBJECTS = 3,
	NR_MEMORY_PARTS
};

static inline enum profile_column memory_column(enum memory_kind kind, enum memory_part part)
{
	unsigned int first = kind == MEMORY_MALLOC	  ? COLUMN_ALLOCATED
			     : kind == MEMORY_GPU_TENSORS ? COLUMN_GPU_ALLOCATED
							  : COLUMN_CPU_ALLOCATED;

	return (enum profile_column)(first + (unsigned int)part);
}

/* NR_MEMORY_KINDS if the column is not one of memory. */
static inline enum memory_kind memory_kind_of(uint64_t column)
{
	if (column >= COLUMN_ALLOCATED && column <= COLUMN_LIVE_OBJECTS)
		return MEMORY_MALLOC;
	if (column >= COLUMN_GPU_ALLOCATED && column <= COLUMN_GPU_LIVE_BLOCKS)
		return MEMORY_GPU_TENSORS;
	if (column >= COLUMN_CPU_ALLOCATED && column <= COLUMN_CPU_LIVE_BLOCKS)
		return MEMORY_CPU_TENSORS;
	return NR_MEMORY_KINDS;
}

static inline bool column_is_memory(uint64_t column)
{
	return memory_kind_of(column) != NR_MEMORY_KINDS;
}

static inline bool column_is_tensors(uint64_t column)
{
	return column >= COLUMN_GPU_ALLOCATED && column <= COLUMN_CPU_LIVE_BLOCKS;
}

/* `column` must be one of memory. */
static inline enum memory_part memory_part_of(uint64_t column)
{
	return (enum memory_part)(column - memory_column(memory_kind_of(column), MEMORY_ALLOCATED));
}

/* Does the column say what is live: its bytes, or its number of blocks? */
static inline bool column_is_live(uint64_t column)
{
	return column_is_memory(column) && memory_part_of(column) >= MEMORY_LIVE;
}

/* Does the column say what was allocated: its bytes, or its number of blocks? */
static inline bool column_is_allocated(uint64_t column)
{
	return column_is_memory(column) && memory_part_of(column) < MEMORY_LIVE;
}

static inline bool column_is_event(uint64_t column)
{
	return column >= COLUMN_EVENT_1 && column <= COLUMN_EVENT_8;
}

/*
 * Returns the row of a column: that of the table above, or the profile's own for columns of events,
 * which have names, and for memory that sprof has sampled. Valid as long as the profile.
 */
const struct column_info *column_info_of(const struct profile *p, unsigned int column);

/* Is the column memory that sprof has sampled, with a known sampling error? */
bool memory_is_sampled(const struct profile *p, unsigned int column);

/* Gives a column of events its name. Ignores a fact without such a column or a valid string. */
void column_name_event(struct profile *p, const struct fact_event *event);

/* Returns the column of the event that a user calls `name`, or NR_COLUMNS. */
unsigned int column_find_event(const struct profile *p, const char *name);

/* The fact of the event that has the column; NULL: none has. */
const struct fact_event *column_event(const struct profile *p, uint64_t column);
/*
 * Returns the column for samples of an event that are added to the profile: that of the event of
 * that name, or else a free one, or NR_COLUMNS.
 */
uint8_t column_for_event(const struct profile *p, const char *name);

/* Returns the column of that name or pprof_name, or NR_COLUMNS. */
enum profile_column column_find(const char *name);

/* Returns what pprof files call the column. */
const char *column_pprof_name(const struct column_info *info);

/*
 * Sets for each column whether the profile has samples of it to show; not for lifetimes of blocks,
 * which only live_blocks.h uses.
 */
void columns_present(const struct profile *p, bool ret_present[NR_COLUMNS]);

/* Is the column CPU time, or one of the two of waits? */
bool column_is_part_of_wall(unsigned int column);
/*
 * If samples of running threads and of waiting ones were taken together, adds their sum, wall-clock
 * time, as a column, and makes it the one to show first. Leaves other profiles alone.
 */
void columns_add_wall(struct profile *p);

/*
 * Returns the column to show if the user names none: live memory if a part of it was chosen, else
 * the column that an imported file asks for, else CPU time if there is any, else the first column
 * with a sample.
 */
enum profile_column column_default(const struct profile *p);

/* Returns the name of `nr` events, in the singular or the plural. */
const char *column_events_name(const struct column_info *info, uint64_t nr);

/*
 * Returns how many events of `column` a sample stands for; 0 if it belongs to another column. The
 * caller handles the weight in the column itself.
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
