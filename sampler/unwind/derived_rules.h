/*
 * Unwind rules of functions that no FDE describes (assembly of MKL and the like), from their machine
 * code. A false caller is worse than none, so there are rules only where this is certain: all code
 * that can be reached from the first instruction of a function is followed, each place has one
 * distance to the CFA whatever way leads there, and every way out (ret, or a jump to the start of
 * another function) finds rsp at the return address and rbp as the caller left it. Where code was
 * taken for the start of a function wrongly, its ret says so. One jump that cannot be followed, one
 * instruction that is not known, and the function has no rules.
 *
 * A piece of a function can look like one: what a jump table leads to, or a cold part. It is told by
 * its ret, unless it has none and runs on, behind a call that does not return, into the next function.
 * So a function never runs on into another one that is known; and one whose start is only guessed
 * (code that nothing seen so far leads to) calls nothing, and leaves by ret alone.
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
	/* Asked of addresses outside: is it where a function begins, with the CFA at rsp + 8? */
	bool (*is_function)(void *context, uint64_t vaddr);
	void *context;
};

struct derived_rule {
	uint32_t start, end; /* offsets in the text */
	struct walk_rule rule;
};

/* Where the bytes lie that the rules of a function follow from; others' may lie between them. */
struct derived_function {
	uint32_t start, end;
};

struct derived_rules;

/* The text must stay until the rules are freed. */
struct derived_rules *derived_rules_new(const struct derived_text *text);
void derived_rules_free(struct derived_rules *rules); /* NULL is fine */

/* A function is said to begin there. */
void derived_rules_add_entry(struct derived_rules *rules, size_t start);
/* Bytes that have rules already: no function that can be reached from here runs into them. */
void derived_rules_exclude(struct derived_rules *rules, size_t start, size_t end);
/* Fewer steps than any real file needs: for text that may change before they are done. */
void derived_rules_set_steps(struct derived_rules *rules, uint32_t steps_per_byte);
/* Looks at all of the text. */
void derived_rules_find(struct derived_rules *rules);
/* What was found, each byte at most once, in the order it was found. Valid until the next call. */
const struct derived_rule *derived_rules_get(const struct derived_rules *rules, size_t *ret_nr);
/* How many functions have rules. */
uint32_t derived_rules_nr_functions(const struct derived_rules *rules);
/* They, in the order they were found. Valid until the next call. */
const struct derived_function *derived_rules_functions(const struct derived_rules *rules);

#endif
