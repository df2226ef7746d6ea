/*
 * Checks that lookups cannot leave an unwind table: invariants that must hold whatever file the
 * table was built from.
 */
#ifndef SPROF_TESTS_TABLE_FORM_H
#define SPROF_TESTS_TABLE_FORM_H

#include <stdbool.h>

#include "sampler/unwind/unwind_table.h"

static inline bool run_is_sound(const struct unwind_table *table, uint32_t run, uint32_t nr_rules)
{
	uint32_t nr;

	if (run >= table->nr_words)
		return false;
	nr = table->words[run] >> 16;
	if (nr < 2 || nr > WALK_MAX_RUN || run + nr > table->nr_words ||
	    walk_row_rule(table->words[run]) >= nr_rules)
		return false;
	for (uint32_t k = 1; k < nr; k++) {
		uint32_t word = table->words[run + k], before = table->words[run + k - 1];

		if (walk_row_rule(word) >= nr_rules || word >> 16 >= WALK_PAGE_SIZE ||
		    word >> 16 == 0 || (k > 1 && word >> 16 <= before >> 16))
			return false;
	}
	return true;
}

static inline bool table_is_sound(const struct unwind_table *table, const struct rule_set *set)
{
	uint32_t nr_rules;

	rule_set_rules(set, &nr_rules);
	for (uint32_t i = 0; i < table->nr_pages; i++) {
		uint32_t page = table->pages[i];

		if (page & WALK_ONE_RULE ? walk_row_rule(page) >= nr_rules
					 : !run_is_sound(table, page, nr_rules))
			return false;
	}
	return true;
}

#endif
