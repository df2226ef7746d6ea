/*
 * Derives unwind rules from machine code, for functions that no FDE describes: assembly of MKL and
 * the like, and C that was compiled without unwind tables, as musl and busybox are. A wrong caller
 * is worse than none, so a function must prove itself: its code is followed from its first
 * instruction, through jumps and tables of jumps; at each place the distance to the CFA is the same
 * on every path; and at every exit that is found (a ret, or a jump to the start of another
 * function) rsp is at the return address and rbp is the caller's. If something that is not the
 * start of a function was taken for one, its ret fails this test.
 *
 * How much more is asked depends on how sure it is that a function begins there:
 * - sure (a symbol names it, or code calls it): parts that cannot be followed go without rules.
 *   It need not have an exit: then it has rules as far as it certainly runs on, and if all ways
 *   through it end in calls that never return, all of it has.
 * - hinted (its address is used somehow): it must have an exit, and all of it must be followed.
 *   When all others are done, those that are left need no exit either.
 * - guessed (it follows a function with rules): it must also call only what is known to return. A
 *   part of a function, behind a jump table or a cold part, can look like a function; its ret gives
 *   it away, unless it has none and runs into the next function after a call that never returns.
 */
#ifndef SPROF_DERIVED_RULES_H
#define SPROF_DERIVED_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/unwind/x86_64/code_references.h"

struct derived_text {
	const uint8_t *bytes;
	size_t size; /* below 1 GiB */
	uint64_t vaddr;
	/* For addresses outside the text: does a function begin there, with the CFA at rsp + 8? */
	bool (*is_function)(void *context, uint64_t vaddr);
	/* Does that function return? */
	enum code_fate (*fate)(void *context, uint64_t vaddr);
	/* Reads constants of the file, such as tables of jumps; NULL: none can be read. */
	bool (*read)(void *context, uint64_t vaddr, void *buffer, size_t size);
	/* The lowest address above vaddr that code refers to; NULL: unknown. */
	uint64_t (*next_reference)(void *context, uint64_t vaddr);
	/* Is that word of memory filled by the loader with a function of this file? NULL: none is. */
	bool (*is_own_slot)(void *context, uint64_t vaddr);
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

/* Says that a function begins there, or that one may. */
void derived_rules_add_entry(struct derived_rules *rules, size_t start);
void derived_rules_add_hint(struct derived_rules *rules, size_t start);
/* Excludes bytes that have rules already. */
void derived_rules_exclude(struct derived_rules *rules, size_t start, size_t end);
/*
 * For text that is made at run time and may change meanwhile: entries count as hinted, and the work
 * is limited to less than real files need. Before anything is added.
 */
void derived_rules_set_runtime(struct derived_rules *rules);
/* Searches all of the text. */
void derived_rules_find(struct derived_rules *rules);
/* The rules, in the order found; each byte has at most one. Valid until the next call. */
const struct derived_rule *derived_rules_get(const struct derived_rules *rules, size_t *ret_nr);
/* How many functions have rules. */
uint32_t derived_rules_nr_functions(const struct derived_rules *rules);
/* The functions with rules, in the order found. Valid until the next call. */
const struct derived_function *derived_rules_functions(const struct derived_rules *rules);

#endif
