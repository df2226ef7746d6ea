/* The mapping that a stack pointer lies in: how far up the stack can be read. */
#ifndef SPROF_GPU_AGENT_STACK_BOUNDS_H
#define SPROF_GPU_AGENT_STACK_BOUNDS_H

#include <stdbool.h>

#include "gpu/agent/base/thread.h"

/*
 * Sets cache->low and ->high from /proc/self/maps and drops the kept stack. False where sp lies in
 * no mapping, or where this thread changes stacks so often (coroutines) that a look each time
 * costs too much.
 */
bool stack_bounds(struct stack_cache *cache, uint64_t sp);

#endif
