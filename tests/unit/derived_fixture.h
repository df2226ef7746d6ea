/* What tests of derived rules share: a text at 0x1000, and checks of its rules. */
#ifndef SPROF_TESTS_DERIVED_FIXTURE_H
#define SPROF_TESTS_DERIVED_FIXTURE_H

#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/unwind/code/derived_rules.h"

#define FUNCTION_OUTSIDE 0x2000u

static inline bool is_function(void *context, uint64_t vaddr)
{
	(void)context;
	return vaddr == FUNCTION_OUTSIDE;
}

static inline struct derived_text text_of(const uint8_t *bytes, size_t size)
{
	return (struct derived_text){
		.bytes = bytes,
		.size = size,
		.vaddr = 0x1000,
		.is_function = is_function,
	};
}

/* The rules of a text whose functions begin at these places. */
static inline struct derived_rules *find_from(const uint8_t *bytes, size_t size,
					      const uint32_t *entries, size_t nr_entries)
{
	const struct derived_text text = text_of(bytes, size);
	struct derived_rules *rules = derived_rules_new(&text);

	for (size_t i = 0; i < nr_entries; i++)
		derived_rules_add_entry(rules, entries[i]);
	derived_rules_find(rules);
	return rules;
}

#define ENTRIES(...)                                                                               \
	(const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4

static inline struct walk_rule rule_at(const struct derived_rules *rules, uint32_t at)
{
	size_t nr;
	const struct derived_rule *found = derived_rules_get(rules, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (at >= found[i].start && at < found[i].end)
			return found[i].rule;
	}
	return (struct walk_rule){ .cfa = WALK_CFA_NONE };
}

static inline void check(const struct derived_rules *rules, uint32_t at, int cfa, int cfa_off,
			 int fp, int fp_off)
{
	struct walk_rule rule = rule_at(rules, at);

	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_off, cfa_off);
	assert_int_equal(rule.fp, fp);
	assert_int_equal(rule.fp_off, fp_off);
}

#endif
