/*
 * Which value of a pprof sample goes to which column of the profile, from the types and units that
 * the file names.
 */
#ifndef SPROF_PPROF_VALUES_H
#define SPROF_PPROF_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct cursor;
struct pprof_tables;

enum {
	PPROF_MAX_VALUES = 64,
	PPROF_USE_NONE = NR_COLUMNS,
	PPROF_USE_SAMPLES, /* the number of samples of column `counted` */
};

struct pprof_values {
	int use[PPROF_MAX_VALUES];	  /* per value: an enum profile_column or PPROF_USE_ */
	uint64_t scale[PPROF_MAX_VALUES]; /* from the unit of the file to that of the column */
	int counted;			  /* the column that PPROF_USE_SAMPLES is about */
};

/*
 * Chooses a column for every value, notes in the profile which one the file wants to be shown, and
 * warns of values that are left out. 0, or -EINVAL for more than PPROF_MAX_VALUES values.
 */
int pprof_choose_values(struct pprof_values *v, const struct pprof_tables *t, struct profile *p,
			const char *name);

/* Interns the type and the unit of a ValueType message. */
void pprof_value_type(const struct pprof_tables *t, struct profile *p, struct cursor message,
		      uint32_t *ret_type, uint32_t *ret_unit);

#endif
