/*
 * A call of a mathematical library, from its start to its return. The kernels that the thread
 * launches meanwhile belong to it. Libraries call each other and themselves: only the outermost
 * call counts.
 *
 *	struct flops_call call;
 *
 *	if (flops_call_begins(&call, __builtin_frame_address(0)))
 *		flops_call_is(&call, "cublasSgemm_v2", &shape);
 *	return flops_call_ends(&call, real(...));
 */
#ifndef SPROF_GPU_AGENT_FLOPS_CALL_H
#define SPROF_GPU_AGENT_FLOPS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/flops/shape.h"

struct thread;

struct flops_call {
	struct thread *thread; /* NULL: the call does not count */
	uint32_t entry, generation;
	struct shape shape;
};

/*
 * False where the call does not count: nothing is recorded now, or the thread is in another such
 * call. `frame` is __builtin_frame_address(0) of the function in whose place we are.
 */
bool flops_call_begins(struct flops_call *call, const void *frame);
/* To be called if it counts, with the function's name and what it will compute. */
void flops_call_is(struct flops_call *call, const char *name, const struct shape *shape);
/* Returns the status, which is 0 if the call succeeded. */
int flops_call_ends(struct flops_call *call, int status);

#endif
