/* Which part of what happens is collected: gpu/agent/base/region.h, enum gpu_capture. */
#ifndef SPROF_GPU_AGENT_CAPTURE_H
#define SPROF_GPU_AGENT_CAPTURE_H

#include "gpu/agent/agent.h"

struct range_event;

/* When collecting begins: what config asks for. */
void capture_begin(void);
/* When it ends: closes the window that is open. */
void capture_end(void);

/* Is what happens now collected? */
static inline bool capture_is_open(void)
{
	return !agent.capture || __atomic_load_n(&agent.nr_capturing, __ATOMIC_RELAXED);
}

/* The same for a call at its exit; of cuProfilerStart and cuProfilerStop they open and close. */
bool capture_call(uint32_t domain, uint32_t api_class);
/* A range begins: does it open a window? If so, capture_close() when it ends. */
bool capture_open(const struct range_event *event);
void capture_close(void);

#endif
