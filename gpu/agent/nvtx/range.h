/* NVTX ranges: which are open on a thread, what paths they form, and their sums. */
#ifndef SPROF_GPU_AGENT_RANGE_H
#define SPROF_GPU_AGENT_RANGE_H

#include "gpu/agent/base/thread.h"

/* What an NVTX event says of itself; names are strings of the arena. */
struct range_event {
	uint32_t name, domain;
	uint32_t category, color;
	uint8_t payload_type; /* enum gpu_payload_type */
	uint64_t payload;
};

int range_init(void); /* 0 or -ENOMEM */

/* When collecting begins: ranges that were pushed before are forgotten. */
void range_begin(void);

/* All of these while agent_collects(). */

/* The nesting level the range got, from 0; of its thread, over all domains. */
int range_push(struct thread *thread, const struct range_event *event);
/* Ends the innermost range of that domain; its level, or -1 where there is none. */
int range_pop(struct thread *thread, uint32_t domain);
/* A range that may end on another thread; its id, 0 = too many are open. */
uint64_t range_start(struct thread *thread, const struct range_event *event);
void range_end(uint64_t id);
void range_mark(struct thread *thread, const struct range_event *event);
/* The innermost open one of the thread: a range id. */
uint32_t range_current(struct thread *thread);
/* After collecting has ended: records what is still open, with the flag GPU_RANGE_OPEN. */
void range_flush_open(void);
/* All sums begin at 0 again. */
void range_forget(void);

#endif
