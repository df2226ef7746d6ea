/*
 * Two profiles as one tree: every path that either has, with what was spent on it before and after.
 * The tree's own values are those of after; where they are 0 a path was removed.
 *
 * Normalised, values are compared as shares of their own profile: what a change did to the mix, however
 * long each was recorded. Absolute, they are compared as they are: what it did to the bill.
 */
#ifndef SPROF_DIFF_H
#define SPROF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/tree/tree.h"

/* So much of time, or of whatever the column counts, and on how many samples that rests. */
struct diff_amount {
	uint64_t value, samples;
};

struct diff_side {
	struct diff_amount self, total;
};

struct diff {
	struct tree *tree;
	struct diff_side *before; /* by node */
	struct diff_amount whole_before, whole_after;
	bool absolute;
	bool exact; /* every event was counted in both: no change has a margin */
	/*
	 * The removed paths as a tree of their own: by node, what before spent in it, 0 where after has
	 * it too or the samples cannot tell whether it has; total with all below. In units of 1 / (1 << width_shift) of after's, after scaling
	 * before to after where the diff is normalised, so that both can stand side by side.
	 */
	uint64_t *removed_self, *removed_total;
	unsigned width_shift;
};

/* Fractions: of the profile's own whole (normalised) or of that of before (absolute). */
struct diff_change {
	double before, after;
	double change, margin; /* margin: half of the 95% confidence interval of the change */
	bool significant;      /* the change is larger than its margin */
};

/* A function in both profiles; where it calls itself, its inner calls are not added twice. */
struct diff_row {
	const struct tree_function *function;
	struct diff_side before, after;
	struct diff_change self, total;
};

enum diff_key { DIFF_SELF, DIFF_TOTAL };

/*
 * Both trees must outlive the diff. Absolute needs trees of one column: -EINVAL otherwise; -ERANGE where
 * the values are too large to be added.
 */
int diff_new(const struct tree *before, const struct tree *after, bool absolute,
	     struct diff **ret_diff);
void diff_free(struct diff *diff);

struct diff_change diff_compare(const struct diff *diff, struct diff_amount before,
				struct diff_amount after);
/* What a node's total and self have become. */
struct diff_change diff_total_of(const struct diff *diff, uint32_t node);
struct diff_change diff_self_of(const struct diff *diff, uint32_t node);

/* All these paths together: .change is what they were, negative. */
struct diff_change diff_removed(const struct diff *diff);

/* By function of the tree; the caller frees the array. */
struct diff_row *diff_sums(const struct diff *diff);

/*
 * The functions that have a sample in either profile, the largest change of `key` first; changes within
 * the margin come after all that are not. The caller frees the array.
 */
struct diff_row *diff_rank(const struct diff *diff, enum diff_key key, uint32_t *ret_nr);

/* -4 (much less) .. 4 (much more); 0 within the margin. By the change of the share: 0.3, 1, 3 %. */
int diff_level(const struct diff_change *change);

#endif
