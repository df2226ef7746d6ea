/*
 * PyTorch's operators as its native code names them on the stack, at::_ops::NAME::call(...): self
 * and total of each from samples, for recordings without ranges that are named after operators.
 */
#ifndef SPROF_OPERATORS_H
#define SPROF_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/insight/groups.h"
#include "output/tree/ranking.h"

struct buffer;
struct grid_report_opts;
struct summary;
struct tree;

struct operator_row {
	const char *name; /* inside the name of a function of the tree; no NUL at its end */
	size_t size;
	uint32_t function; /* of the tree */
	struct group_sum sum;
};

struct operators {
	struct operator_row *rows; /* most expensive first */
	size_t nr;		   /* 0: no stack has an operator */
};

/*
 * The name of the operator that a native function calls: "addmm" of
 * "at::_ops::addmm::call(at::Tensor const&)", "AddmmBackward0" of
 * "torch::autograd::generated::AddmmBackward0::apply(...)"; NULL for other functions. It lies
 * inside `function` and is *ret_size bytes long.
 */
const char *operators_name(const char *function, size_t *ret_size);
/* The length of the operator's name in the name of a range, "aten::addmm, seq = 12". */
size_t operators_range_length(const char *range);

/* The tree must outlive the result. */
void operators_init(struct operators *operators, const struct tree *tree, enum ranking_key key);
void operators_fini(struct operators *operators);

/* Writes a row per operator that has time. */
void operators_write(struct buffer *b, const struct operators *operators,
		     const struct summary *summary, const struct grid_report_opts *opts);

#endif
