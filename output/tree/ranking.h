/* The functions of a tree, most expensive first. All tables of functions start from this list. */
#ifndef SPROF_RANKING_H
#define SPROF_RANKING_H

#include <stdint.h>

#include "output/tree/tree.h"

enum ranking_key { RANKING_SELF, RANKING_TOTAL };

/* Orders two pairs of sums as qsort wants it: the larger one first, by `key`, then by the other. */
int ranking_order(enum ranking_key key, uint64_t self_a, uint64_t total_a, uint64_t self_b,
		  uint64_t total_b);

struct ranking_row {
	const struct tree_function *function;
	struct tree_sum sum;
	struct tree_gil gil; /* of the self time */
	/* see struct tree_ratio; below 0: unknown, or not asked for */
	double self_ratio, total_ratio;
};

struct ranking {
	struct ranking_row *rows;
	uint32_t nr_rows;
};

/*
 * Ranks every function that has a sample. Threads are included only if they have self time, samples
 * without any function, so that all self times add up to the whole.
 */
void ranking_init(struct ranking *r, const struct tree *tree, enum ranking_key key);
void ranking_fini(struct ranking *r);

/* "native", "kernel", ...: stable, as machine-readable outputs use it. */
const char *ranking_kind_name(uint8_t kind);

#endif
