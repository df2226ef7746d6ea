/*
 * PyTorch's operators as its own native code names them on the stack, at::_ops::NAME::call(...): their self
 * and total by samples, where no ranges were recorded that are named after them.
 */
#ifndef SPROF_OPERATORS_H
#define SPROF_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct summary;
struct tree;

struct operators_opts {
	bool by_total; /* sorted by total, else by self */
	bool json;
	uint32_t max_rows; /* 0 = all */
	size_t columns;	   /* of the terminal, which names are cut to; 0 = never cut */
	bool unicode;	   /* in text, else ASCII */
};

/*
 * The name of the operator that a native function calls: "addmm" of "at::_ops::addmm::call(at::Tensor const&)",
 * "AddmmBackward0" of "torch::autograd::generated::AddmmBackward0::apply(...)"; NULL where it is none. Inside
 * `function`, *ret_size bytes long.
 */
const char *operator_name(const char *function, size_t *ret_size);

/* False, with nothing written, where no stack has one. */
bool operators_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		     const struct operators_opts *opts);

#endif
