/*
 * What kind of code the time of each function ended in: Python, native code, the kernel, a GPU. The
 * total of a function is split by the kind of the innermost function of its stacks; recursion
 * counts once.
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

/* Runtime code, and code without a name, is native. */
enum split_end { SPLIT_PYTHON, SPLIT_NATIVE, SPLIT_KERNEL, SPLIT_GPU, NR_SPLIT_ENDS };

/* By function of the tree: its total by kind; [0] is the whole. The caller frees the array. */
uint64_t (*split_ends(const struct tree *tree))[NR_SPLIT_ENDS];

/* Writes a row for the whole, then one per function, with a column for each kind that has time. */
void split_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		 enum ranking_key key, const struct grid_report_opts *opts);

#endif
