/*
 * What hints look for: marks that functions get by their names, and rules on the order in which
 * marks lie on a stack. docs/python.md lists the rules for those who read the hints.
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
	/* bits, 1 << enum profile_column; if several prove the hint, the lowest is used */
	uint32_t columns;
	uint32_t outer;	  /* a function with one of these marks is on the stack; 0 = any stack */
	uint32_t inner;	  /* that function, or one it calls, has one of these */
	uint32_t without; /* and no function of the stack has one of these */
	uint32_t min_percent;
	bool is_leaf;	    /* `inner` is the innermost function, apart from system calls */
	bool of_threads;    /* a share of the threads that run such functions, not of all threads */
	bool says_when;	    /* say when it was last seen */
	bool names_holder;  /* say which code held Python's GIL */
	bool names_workers; /* say what the workers of a DataLoader did */
	const char *unless; /* code of a hint that already says the same, or NULL */
};

/* Both tables end with an entry of zeros. */
extern const struct hint_mark hint_marks[];
extern const struct hint_rule hint_rules[];

enum {
	HINT_MARK_SYSTEM = 1 << 0, /* the kernel, and functions that only enter it */
	HINT_MARK_FETCH = 1 << 3,  /* a DataLoader's fetcher */
	HINT_MARK_WORKER = 1 << 4, /* the loop of one of its workers */
};

#endif
