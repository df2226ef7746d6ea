/*
 * Conditions of sprof diff --fail-if, which fails a build when one is met: "self>+2%" is met by a
 * function whose self grew by more than 2 % of the whole and by more than the sampling error.
 */
#ifndef SPROF_DIFF_CONDITION_H
#define SPROF_DIFF_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "output/report/diff_text.h"

struct diff_condition {
	enum diff_key key;
	bool less;	  /* true: met below the limit; false: met above it */
	double limit;	  /* a fraction, with its sign */
	const char *text; /* as the user wrote it */
};

/* Parses (self|total)(>|<)[+|-]N% */
bool diff_condition_parse(const char *text, struct diff_condition *ret_condition);

/* Reports each function that meets the condition, at most ten by name. Returns how many do. */
uint32_t diff_condition_check(const struct diff_condition *condition, const struct diff_view *v,
			      const struct diff_row *rows, uint32_t nr_rows);

#endif
