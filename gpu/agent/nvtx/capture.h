/* Which part of what happens is collected: gpu/agent/base/region.h, enum gpu_capture. */
#ifndef SPROF_GPU_AGENT_CAPTURE_H
#define SPROF_GPU_AGENT_CAPTURE_H

#include "gpu/agent/base/state.h"

struct range_event;

/* Written by capture.c alone; here so that the hot paths can ask without a call. */
struct capture {
	uint32_t
		kind; /* enum gpu_capture; atomic: calls under the last recorder may still read it */
	uint32_t nr_open; /* atomic: ranges and profiler calls that hold the window open */
};

extern struct capture capture;

static inline uint32_t capture_kind(void)
{
	return __atomic_load_n(&capture.kind, __ATOMIC_RELAXED);
}

/* When collecting begins: what config asks for. */
void capture_begin(void);
/* When it ends: closes the window that is open. */
void capture_end(void);

/* Is what happens now collected? */
static inline bool capture_is_open(void)
{
	return !capture.kind || __atomic_load_n(&capture.nr_open, __ATOMIC_RELAXED);
}

/* The same for a call at its exit; of cuProfilerStart and cuProfilerStop they open and close. */
bool capture_call(uint32_t domain, uint32_t api_class);
/* A range begins: does it open a window? If so, capture_close() when it ends. */
bool capture_open(const struct range_event *event);
void capture_close(void);

#endif
