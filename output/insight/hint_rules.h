/*
 * What hints look for: marks that functions bear by their names, and rules on the order in which marks stand
 * on a stack. docs/python.md lists the rules for those who read the hints.
 */
#ifndef SPROF_HINT_RULES_H
#define SPROF_HINT_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct hint_mark {
	uint32_t bit;
	const char *pattern; /* as in pattern_init() */
};

struct hint_rule {
	const char *code, *title, *remedy;
	uint32_t columns; /* bits, 1 << enum profile_column; of several the lowest that proves it */
	uint32_t outer;	  /* one of these marks stands on the stack; 0 = any stack */
	uint32_t inner;	  /* in that function or inside it, one of these */
	uint32_t without; /* and none of these anywhere */
	uint32_t min_percent;
	bool is_leaf;	    /* inner is what ran itself, system calls aside */
	bool of_threads;    /* a share of the threads that do such a thing, not of all */
	bool says_when;	    /* it matters when it was last seen */
	const char *unless; /* code of a hint that says the same, or NULL */
};

/* Both end with an entry of zeros. */
extern const struct hint_mark hint_marks[];
extern const struct hint_rule hint_rules[];

enum { HINT_MARK_SYSTEM = 1 << 0 }; /* the kernel, and what only enters it */

#endif
