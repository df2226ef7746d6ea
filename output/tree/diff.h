/*
 * Compares two profiles in one tree, which has every path of either with its values before and
 * after. The values in the tree itself are those of after, so a path with 0 was removed.
 *
 * A normalised diff compares shares of each profile, whatever the lengths of the recordings. An
 * absolute diff compares the values as they are.
 */
#ifndef SPROF_DIFF_H
#define SPROF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/tree/tree.h"

/*
 * A value in the unit of the column, and the number of samples behind it. `equal` is its variance
 * where samples have variances of their own (margins.h), else 0: so many samples have it together
 * if each has the standard deviation diff.step_before or .step_after.
 */
struct diff_amount {
	uint64_t value, samples, equal;
};

static inline void diff_amount_add(struct diff_amount *to, const struct diff_amount *from)
{
	to->value += from->value;
	to->samples += from->samples;
	to->equal += from->equal;
}

struct diff_side {
	struct diff_amount self, total;
};

struct diff {
	struct tree *tree;
	struct diff_side *before; /* by node */
	struct diff_equal {
		uint64_t self, total;
	} * after;	    /* by node: `equal` of the tree's values, which are those of after */
	bool has_variances; /* in both profiles: `equal` and the two steps are known */
	uint64_t step_before, step_after; /* in the unit of the column */
	struct diff_amount whole_before, whole_after;
	bool absolute;
	bool exact; /* both profiles counted every event: changes have no margin */
	/*
	 * The removed paths, by node: the value before, or 0 if after has the path too or the
	 * samples cannot tell. They are drawn beside the paths of after, so a normalised diff
	 * scales them to the whole of after; the unit is 1 / (1 << width_shift) of the column's.
	 */
	uint64_t *removed_self, *removed_total;
	unsigned width_shift;
};

/* Fractions of each profile's whole (normalised) or of the whole of before (absolute). */
struct diff_change {
	double before, after;
	double change, margin; /* margin: half the width of the 95% confidence interval */
	bool significant;      /* the change is larger than its margin */
};

/* A function in both profiles. Recursive calls count once in the totals. */
struct diff_row {
	const struct tree_function *function;
	struct diff_side before, after;
	struct diff_change self, total;
};

enum diff_key { DIFF_SELF, DIFF_TOTAL };

/*
 * Both trees must outlive the diff. 0, or, not reported, -EINVAL if an absolute diff is of two
 * columns, -ERANGE if the values are too large to be added, -EFBIG if the trees are too large.
 */
int diff_new(const struct tree *before, const struct tree *after, bool absolute,
	     struct diff **ret_diff);
void diff_free(struct diff *diff);

struct diff_change diff_compare(const struct diff *diff, struct diff_amount before,
				struct diff_amount after);
/* The change of a node's total and of its self. */
struct diff_change diff_total_of(const struct diff *diff, uint32_t node);
struct diff_change diff_self_of(const struct diff *diff, uint32_t node);

/* The change of all removed paths together; .change is negative. */
struct diff_change diff_removed(const struct diff *diff);

/* Sums by function of the tree; the caller frees the array. */
struct diff_row *diff_sums(const struct diff *diff);

/*
 * The functions with a sample in either profile, sorted by the change of `key`, largest first;
 * changes within their margin come after all others. The caller frees the array.
 */
struct diff_row *diff_rank(const struct diff *diff, enum diff_key key, uint32_t *ret_nr);

/*
 * -4 (much less) .. 4 (much more), 0 within the margin; the steps are at 0.3, 1 and 3 % of the
 * whole.
 */
int diff_level(const struct diff_change *change);

#endif
