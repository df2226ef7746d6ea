/*
 * What a diff must not show, for builds that check it: "self>+2%" is a function whose self grew by more
 * than 2 % of the whole, and by more than the sampling error.
 */
#ifndef SPROF_DIFF_CONDITION_H
#define SPROF_DIFF_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "output/report/diff_text.h"

struct diff_condition {
	enum diff_key key;
	bool less;	  /* less than the limit, not more */
	double limit;	  /* a fraction, with its sign */
	const char *text; /* as given */
};

/* (self|total)(>|<)[+|-]N% */
bool diff_condition_parse(const char *text, struct diff_condition *ret_condition);

/* Reports every function that meets the condition, ten at most one by one; returns how many do. */
uint32_t diff_condition_check(const struct diff_condition *condition, const struct diff_view *v,
			      const struct diff_row *rows, uint32_t nr_rows);

#endif
