/* The stack of a CUDA call, walked in the thread that makes it, without allocating or locking. */
#ifndef SPROF_GPU_AGENT_LAUNCH_STACK_H
#define SPROF_GPU_AGENT_LAUNCH_STACK_H

#include <stdint.h>

#include "gpu/agent/base/thread.h"

/* Sets how many frames a stack may have: at most GPU_MAX_STACK. */
void launch_stack_set_max(uint32_t frames);

/*
 * Returns the stack id of the frames above `frame`, which is __builtin_frame_address(0) of a
 * function of this library; 0 where that fails (counted). Makes a system call only when the
 * thread's stack lies in a mapping not seen before.
 */
uint32_t launch_stack(struct thread *thread, const void *frame);

#endif
