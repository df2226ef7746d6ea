/*
 * What the columns of a profile count. The values of different columns are never added: they differ
 * in unit, or would count one thing twice. So whoever adds up samples chooses a column first.
 */
#ifndef SPROF_COLUMN_H
#define SPROF_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"

/* What a value is measured in. */
enum column_unit {
	UNIT_NS = 0,
	UNIT_COUNT = 1,
	UNIT_BYTES = 2,
};

struct column_info {
	const char *name;   /* for --column and for machines: stable */
	const char *title;  /* for people */
	const char *events; /* what nr_events() counts: "samples", "launches", */
	const char *event;  /* and one of them */
	uint8_t unit;	    /* enum column_unit */
	/*
	 * Where events are counted: a column of counts with the same stacks, which may be the column
	 * itself. CPU and wall-clock time have none (NR_COLUMNS): there, every sample is an event.
	 */
	uint8_t counted_by;
	/* Every event is in the profile, not a sample of them: numbers have no sampling margin. */
	bool exact;
};

extern const struct column_info column_table[NR_COLUMNS];

/* The column of that name, or NR_COLUMNS. */
enum profile_column column_find(const char *name);

/* Has the profile samples in each column? */
void columns_present(const struct profile *p, bool ret_present[NR_COLUMNS]);

/*
 * The column that a profile is shown by where none is asked for: CPU time where there is any, else
 * the first that has a sample.
 */
enum profile_column column_default(const struct profile *p);

/* What so many events are called. */
const char *column_events_name(const struct column_info *info, uint64_t nr);

/*
 * How many events of `column` a sample stands for: 0 where it is of another column. The weight in
 * the column itself is the caller's business.
 */
static inline uint64_t column_events(enum profile_column column, const struct profile_sample *s)
{
	uint8_t by = column_table[column].counted_by;

	if (by == NR_COLUMNS)
		return s->column == column ? 1 : 0;
	return s->column == by ? s->weight : 0;
}

#endif
