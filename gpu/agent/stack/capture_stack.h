/*
 * Where the nodes of CUDA graphs were made. A replay launches all nodes by one call, so its stack
 * says nothing of the code that each kernel comes from; that ran when the graph was captured. A
 * kernel of a graph gets both: the stack of its node above that of the replay, with
 * GPU_FRAME_CAPTURE between them.
 */
#ifndef SPROF_GPU_AGENT_CAPTURE_STACK_H
#define SPROF_GPU_AGENT_CAPTURE_STACK_H

#include <stdint.h>

int capture_stack_init(void); /* 0 or -ENOMEM */

/*
 * A node was made, by code with this stack of the region; 0 for either: nothing is to be noted. Any
 * thread may call it.
 */
void capture_stack_note(uint64_t node, uint32_t stack);
/* A node was made as a copy of another one, as those of an executable graph are. */
void capture_stack_copy(uint64_t node, uint64_t original);

/*
 * Returns the stack of a node in a replay with that stack, which is what it returns for a node that
 * is not known. One caller at a time.
 */
uint32_t capture_stack_join(uint64_t node, uint32_t replay);

#endif
