/*
 * Calls of mathematical libraries that were captured into CUDA graphs. They compute nothing then;
 * their nodes do, each time that the graph runs. The first node of a call stands for its
 * operations, and all of them for its kernels.
 */
#ifndef SPROF_GPU_AGENT_FLOPS_GRAPH_H
#define SPROF_GPU_AGENT_FLOPS_GRAPH_H

#include <stdint.h>

struct shape;
struct thread;

int flops_graph_init(void); /* 0 or -ENOMEM */

/* The thread has made a node; does nothing outside of such calls. */
void flops_note_node(struct thread *thread, uint64_t node);
/* A node was made as a copy of another one. */
void flops_copy_node(uint64_t node, uint64_t original);
/* The call that made this node first has ended. Node 0: none is known. */
void flops_graph_node_is(uint64_t node, const struct shape *shape);

/* The entry of a node's call in gpu_region.flops, 0 = none. */
uint32_t flops_of_node(uint64_t node);
void flops_node_ran(uint64_t node);

#endif
