/*
 * The capture windows: which part of what happens is collected (base/region.h, enum gpu_capture).
 * NVTX ranges open them, or the calls cuProfilerStart and cuProfilerStop.
 */
#ifndef SPROF_GPU_AGENT_CAPTURE_H
#define SPROF_GPU_AGENT_CAPTURE_H

#include "gpu/agent/base/state.h"

struct range_event;

/* Written by capture.c alone; here so that the hot paths can ask without a call. */
struct capture {
	uint32_t kind;	  /* enum gpu_capture; atomic */
	uint32_t nr_open; /* atomic: ranges and profiler calls that hold the window open */
};

extern struct capture capture;

static inline uint32_t capture_kind(void)
{
	return __atomic_load_n(&capture.kind, __ATOMIC_RELAXED);
}

/* When collecting begins: reads the config. */
void capture_begin(void);
/* When collecting ends: closes the open window. */
void capture_end(void);

/* True if what happens now is collected. */
static inline bool capture_is_open(void)
{
	return !capture_kind() || __atomic_load_n(&capture.nr_open, __ATOMIC_ACQUIRE);
}

/*
 * True if a call is collected, asked at its exit. cuProfilerStart opens a window and
 * cuProfilerStop closes it.
 */
bool capture_call(uint32_t domain, uint32_t api_class);
/* For a range that begins: true if it opens a window. Then call capture_close() when it ends. */
bool capture_open(const struct range_event *event);
void capture_close(void);

#endif
