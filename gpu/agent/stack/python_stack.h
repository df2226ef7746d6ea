/* The Python frames of the thread that makes a call, among the native ones. */
#ifndef SPROF_GPU_AGENT_PYTHON_STACK_H
#define SPROF_GPU_AGENT_PYTHON_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/base/thread.h"

/* Maps the look-up table. 0 or -ENOMEM. */
int python_stack_init(void);
/*
 * Are the thread's Python frames those of the stack that was taken last? true where there are none,
 * and were none.
 */
bool python_stack_is_same(const struct thread *thread, uint32_t generation);
/*
 * Walks them anew, and merges them with the native frames that thread->stack holds: the frames
 * in thread->python.frames, the number of them returned; *ret_end says how the stack ended. 0: there
 * are no Python frames.
 */
uint32_t python_stack_merge(struct thread *thread, uint32_t generation, uint8_t *ret_end);

#endif
