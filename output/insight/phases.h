/*
 * The phases of a program, by rules on the functions that are on its stacks: what share of a
 * training run is forward, backward, waiting for data and so on.
 *
 * Rules are lines of text:
 *
 *	PHASE = PATTERN		until a function of another phase is called
 *	PHASE => PATTERN	with everything that it calls
 *
 * PATTERN is as in pattern_init() and is matched against every function of a stack; if several
 * lines match a function, the first one counts. A phase may have several lines. Empty lines and
 * lines that begin with # are comments.
 */
#ifndef SPROF_PHASES_H
#define SPROF_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/insight/groups.h"

struct buffer;
struct grid_report_opts;
struct phase_rules;
struct summary;
struct tree;

/* Built-in rules for PyTorch, plain and under Lightning or a Trainer. */
extern const char phases_default[];

/*
 * Returns 0 with rules that the caller frees, or -EINVAL with the line's number and what is wrong
 * with it in why[]; -ENODATA if no line is a rule.
 */
int phase_rules_new(const char *text, size_t size, struct phase_rules **ret_rules, char *why,
		    size_t why_size);
void phase_rules_free(struct phase_rules *rules);

struct phase {
	const char *name; /* owned by the rules */
	struct group_sum sum;
};

struct phases {
	/* Phases that have time, largest self first; last "other", for stacks without a phase. */
	struct phase *list;
	size_t nr;
};

/* The rules must outlive the result. */
void phases_init(struct phases *phases, const struct tree *tree, const struct phase_rules *rules);
void phases_fini(struct phases *phases);

/* Writes a row per phase. */
void phases_write(struct buffer *b, const struct phases *phases, const struct summary *summary,
		  const struct grid_report_opts *opts);

#endif
