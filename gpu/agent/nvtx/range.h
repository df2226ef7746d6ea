/*
 * NVTX ranges: which ranges each thread has open, the paths that they form, and the sums per path.
 * Push/pop ranges nest within a thread; start/end ranges may end on any thread and form no path.
 */
#ifndef SPROF_GPU_AGENT_RANGE_H
#define SPROF_GPU_AGENT_RANGE_H

#include "gpu/agent/base/thread.h"

/* The attributes of an NVTX event; names are strings of the arena. */
struct range_event {
	uint32_t name, domain;
	uint32_t category, color;
	uint8_t payload_type; /* enum gpu_payload_type */
	uint64_t payload;
};

int range_init(void); /* 0 or -ENOMEM */

/* When collecting begins: ranges pushed before are forgotten. */
void range_begin(void);

/* All of these need agent_collects(). */

/* Returns the nesting level of the range within its thread, from 0, over all domains. */
int range_push(struct thread *thread, const struct range_event *event);
/* Ends the innermost range of that domain. Returns its level, or -1 if there is none. */
int range_pop(struct thread *thread, uint32_t domain);
/* Starts a range that may end on another thread. Returns its id, 0 if too many are open. */
uint64_t range_start(struct thread *thread, const struct range_event *event);
void range_end(uint64_t id);
void range_mark(struct thread *thread, const struct range_event *event);
/* The id of the thread's innermost open push/pop range, or 0. */
uint32_t range_current(struct thread *thread);
/* When collecting ends: records the ranges that are still open, with GPU_RANGE_OPEN. */
void range_flush_open(void);
/* For the next recorder: all sums start at 0 again. */
void range_forget(void);

#endif
