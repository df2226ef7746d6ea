/*
 * Derives unwind rules from machine code, for functions that no FDE describes (assembly of MKL and
 * the like). A wrong caller is worse than none, so a function gets rules only if all of this holds:
 * all code that its first instruction can reach was followed; at each place the distance to the CFA
 * is the same on every path; and at every exit (a ret, or a jump to the start of another function)
 * rsp is at the return address and rbp is the caller's. If something that is not the start of a
 * function was taken for one, its ret fails this test. One jump that cannot be followed or one
 * unknown instruction, and the function gets no rules.
 *
 * A part of a function, behind a jump table or a cold part, can look like a function. Its ret gives
 * it away, unless it has none and runs into the next function after a call that does not return.
 * Therefore a function never continues into another known one; and a function whose start is only
 * guessed (no other code leads there) must not call anything and must end in a ret.
 */
#ifndef SPROF_DERIVED_RULES_H
#define SPROF_DERIVED_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"

struct derived_text {
	const uint8_t *bytes;
	size_t size; /* below 1 GiB */
	uint64_t vaddr;
	/* For addresses outside the text: does a function begin there, with the CFA at rsp + 8? */
	bool (*is_function)(void *context, uint64_t vaddr);
	void *context;
};

struct derived_rule {
	uint32_t start, end; /* offsets in the text */
	struct walk_rule rule;
};

/* The range of a function with rules; bytes of other functions may lie inside it. */
struct derived_function {
	uint32_t start, end;
};

struct derived_rules;

/* The text must stay until the rules are freed. */
struct derived_rules *derived_rules_new(const struct derived_text *text);
void derived_rules_free(struct derived_rules *rules); /* NULL is fine */

/* Says that a function begins there. */
void derived_rules_add_entry(struct derived_rules *rules, size_t start);
/* Excludes bytes that have rules already. */
void derived_rules_exclude(struct derived_rules *rules, size_t start, size_t end);
/* Limits the work to less than real files need: for text that may change meanwhile. */
void derived_rules_set_steps(struct derived_rules *rules, uint32_t steps_per_byte);
/* Searches all of the text. */
void derived_rules_find(struct derived_rules *rules);
/* The rules, in the order found; each byte has at most one. Valid until the next call. */
const struct derived_rule *derived_rules_get(const struct derived_rules *rules, size_t *ret_nr);
/* How many functions have rules. */
uint32_t derived_rules_nr_functions(const struct derived_rules *rules);
/* The functions with rules, in the order found. Valid until the next call. */
const struct derived_function *derived_rules_functions(const struct derived_rules *rules);

#endif
