/*
 * The phases of a program, by rules on the functions that are on its stacks: what share of a training run is
 * forward, backward, waiting for data, ...
 *
 * Rules are lines of text:
 *
 *	PHASE = PATTERN		until a function of another phase is called
 *	PHASE => PATTERN	with everything that it calls
 *
 * PATTERN is as in pattern_init(), and is looked for in every function of a stack; where several lines fit
 * a function, the first counts. A phase may have several lines. Empty lines, and those that begin with #, are
 * comments.
 */
#ifndef SPROF_PHASES_H
#define SPROF_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/tree/groups.h"

struct buffer;
struct grid_report_opts;
struct phase_rules;
struct summary;
struct tree;

/* Rules for PyTorch, plain and under Lightning or a Trainer. */
extern const char phases_default[];

/*
 * 0 with rules that the caller frees, or -EINVAL with the number of the line and what is wrong with it in
 * why[]; -ENODATA where no line is a rule.
 */
int phase_rules_new(const char *text, size_t size, struct phase_rules **ret_rules, char *why,
		    size_t why_size);
void phase_rules_free(struct phase_rules *rules);

struct phase {
	const char *name; /* of the rules */
	struct group_sum sum;
};

struct phases {
	struct phase *
		list; /* those that have time, largest self first; "other", for what fits no rule, last */
	size_t nr;
};

/* The rules must outlive the result. */
void phases_init(struct phases *phases, const struct tree *tree, const struct phase_rules *rules);
void phases_fini(struct phases *phases);

/* A row per phase. */
void phases_write(struct buffer *b, const struct phases *phases, const struct summary *summary,
		  const struct grid_report_opts *opts);

#endif
