/* The mapping that a stack pointer is in: how far up the stack can be read. */
#ifndef SPROF_GPU_AGENT_STACK_BOUNDS_H
#define SPROF_GPU_AGENT_STACK_BOUNDS_H

#include <stdbool.h>

#include "gpu/agent/base/thread.h"

/*
 * Sets low and high from /proc/self/maps and forgets the kept stack; false where sp is in no mapping,
 * or this thread changes stacks so often (coroutines) that looking each time would cost too much.
 */
bool stack_bounds(struct stack_cache *cache, uint64_t sp);

#endif
