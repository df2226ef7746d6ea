/* The Python frames of the thread that makes a call, merged into its native frames. */
#ifndef SPROF_GPU_AGENT_PYTHON_STACK_H
#define SPROF_GPU_AGENT_PYTHON_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/base/thread.h"

/* Maps the look-up table. 0 or -ENOMEM. */
int python_stack_init(void);
/*
 * True if the thread's Python frames are those of its last stack; also if there are none now and
 * were none then.
 */
bool python_stack_is_same(const struct thread *thread, uint32_t generation);
/*
 * Walks the Python frames and merges them with the native ones of thread->stack into
 * thread->python.frames. Returns the number of frames, 0 if there are no Python frames; *ret_end
 * is the enum walk_end.
 */
uint32_t python_stack_merge(struct thread *thread, uint32_t generation, uint8_t *ret_end);

#endif
