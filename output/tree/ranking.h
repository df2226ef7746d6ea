/*
 * The functions of a tree, most expensive first: what every table of them is made of.
 */
#ifndef SPROF_RANKING_H
#define SPROF_RANKING_H

#include <stdint.h>

#include "output/tree/tree.h"

enum ranking_key { RANKING_SELF, RANKING_TOTAL };

struct ranking_row {
	const struct tree_function *function;
	struct tree_sum sum;
	struct tree_gil gil; /* of its self */
};

struct ranking {
	struct ranking_row *rows;
	uint32_t nr_rows;
};

/*
 * Every function that has a sample. Threads are there only if they have time of their own, which is
 * none of any function: so the selves add up to the whole.
 */
void ranking_init(struct ranking *r, const struct tree *tree, enum ranking_key key);
void ranking_fini(struct ranking *r);

/* "native", "kernel", ...: stable, for machines too. */
const char *ranking_kind_name(uint8_t kind);

#endif
