/*
 * The sampling error of sampled memory, in the unit of the column. Samples of memory weigh
 * differently: a large block is always sampled and stands for itself, a small one stands for about
 * the interval. So their number alone does not tell the error.
 */
#ifndef SPROF_MARGINS_H
#define SPROF_MARGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct tree;
struct tree_opts;

/* Half the widths of the 95 % confidence intervals of the values in the tree, by function. */
struct tree_margins {
	uint64_t *self, *total;
	uint64_t whole; /* of the root */
	/* By node. */
	double *variances; /* of self */
	uint64_t step;	   /* the standard deviation that one sample adds at most; at least 1 */
	uint64_t *node_self, *node_total;
};

/*
 * Gives the tree, which `opts` made, its margins; the tree frees them. Does nothing in columns that
 * are not of sampled memory. 0 or -errno, as tree_new().
 */
int margins_add(struct tree *tree, const struct profile *p, const struct tree_opts *opts);

/*
 * A copy of a profile, with all but the samples borrowed, in which the samples of one column weigh
 * their variances, divided by `scale`: these add up as weights do.
 */
struct variances {
	struct profile profile;
	double scale, largest; /* the largest variance of a sample */
};

void variances_init(struct variances *v, const struct profile *p, enum profile_column column);
void variances_fini(struct variances *v);
/* Half the width of the 95 % confidence interval of a sum, by the sum of its variances. */
uint64_t variances_margin(const struct variances *v, uint64_t sum);

/*
 * The variance that a sample adds: an allocation of s bytes was sampled with the probability
 * q = 1 - exp(-s / interval), and weighs s / q bytes or 1 / q. `is_count`: it weighs 1 / q.
 */
double margins_variance(uint64_t weight, bool is_count, uint64_t interval);

#endif
