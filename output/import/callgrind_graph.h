/*
 * A graph of functions and the costs of the calls between them, and the stacks that would explain
 * it: the cost of a function is shared out among its callers as its calls are.
 */
#ifndef SPROF_CALLGRIND_GRAPH_H
#define SPROF_CALLGRIND_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/number_map.h"

struct profile;

struct callgrind_node {
	uint32_t frame;
	double self, incoming, outgoing; /* costs; of calls to it, and of its calls */
	size_t first_call, nr_calls;	 /* in calls[], once they are sorted */
};

struct callgrind_call {
	uint32_t from, to; /* nodes */
	double cost;
};

struct callgrind_graph {
	struct number_map node_of; /* by frame + 1 */
	struct callgrind_node *nodes;
	struct callgrind_call *calls;
	size_t nr_nodes, nodes_capacity, nr_calls, calls_capacity;
};

void callgrind_graph_add_self(struct callgrind_graph *g, uint32_t frame, uint64_t cost);
void callgrind_graph_add_call(struct callgrind_graph *g, uint32_t from, uint32_t to, uint64_t cost);

/*
 * Adds a sample for each stack, in COLUMN_COST; their sum is that of all self costs that a root
 * leads to. 0, -ENODATA where there are no costs, or -ERANGE where the sum is too large.
 */
int callgrind_graph_add_stacks(struct callgrind_graph *g, struct profile *p);
void callgrind_graph_fini(struct callgrind_graph *g);

#endif
