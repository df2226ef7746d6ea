/*
 * What code the time of each function ended in: Python, native code, the kernel, a GPU. A function's
 * total is split by the kind of the innermost function on its stacks, recursion counted once.
 */
#ifndef SPROF_SPLIT_H
#define SPROF_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/tree/ranking.h"

struct buffer;
struct grid_report_opts;
struct summary;
struct tree;

/* JIT code and code without a name are native. */
enum split_end { SPLIT_PYTHON, SPLIT_NATIVE, SPLIT_KERNEL, SPLIT_GPU, NR_SPLIT_ENDS };

/* By function of the tree: its total by end, [0] the whole. The caller frees the array. */
uint64_t (*split_ends(const struct tree *tree))[NR_SPLIT_ENDS];

/* A row for the whole, then one per function; columns for the ends that there are. */
void split_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		 enum ranking_key key, const struct grid_report_opts *opts);

#endif
