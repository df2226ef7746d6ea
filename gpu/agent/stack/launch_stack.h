/* The stack that a call was made from, walked in the thread that made it. */
#ifndef SPROF_GPU_AGENT_LAUNCH_STACK_H
#define SPROF_GPU_AGENT_LAUNCH_STACK_H

#include <stdint.h>

#include "gpu/agent/base/thread.h"

/*
 * The stack id of the frames above `frame`, which is __builtin_frame_address(0) of a function of
 * this library, compiled with a frame pointer; 0 where there is none (counted). No allocation, no
 * lock; a system call only when the thread's stack lies in a mapping not seen before.
 */
/* How many frames a stack may have: at most GPU_MAX_STACK. */
void launch_stack_set_max(uint32_t frames);
uint32_t launch_stack(struct thread *thread, const void *frame);

#endif
