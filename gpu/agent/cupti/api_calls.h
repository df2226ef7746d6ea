/*
 * The callback that CUPTI makes at each API call: what was called, for how long, from which stack.
 */
#ifndef SPROF_GPU_AGENT_API_CALLS_H
#define SPROF_GPU_AGENT_API_CALLS_H

#include <stdbool.h>

#include "gpu/agent/cupti/cupti_abi.h"

/* A cupti_callback_fn. */
void api_calls_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
/* The enum gpu_api_class of a driver function, from its name. */
uint32_t api_calls_class_of(const char *name);
/* To be called before a callback is enabled. domain: enum gpu_api_domain. */
uint32_t api_calls_class(uint32_t domain, uint32_t cbid); /* enum gpu_api_class */
void api_calls_set_class(uint32_t domain, uint32_t cbid, uint32_t api_class);
/* Sets which calls get a stack: bits 1 << enum gpu_api_class, and the shortest duration. */
void api_calls_set_stacks(uint32_t api_classes, uint64_t min_ticks);
/*
 * Makes the next callback at a call's exit call `finalize`, once: CUPTI can be unloaded only from
 * there. NULL revokes that; true if it had not been called, and now never will be.
 */
bool api_calls_finalize_next(int (*finalize)(void));
/* True once it has been called and has returned. */
bool api_calls_finalized(void);

/* What else wants to know of callbacks. The first two are called in threads of the target. */
struct api_calls_watcher {
	/*
	 * a context or a module comes or goes: CUPTI_CBID_CONTEXT_CREATED and so on; also while
	 * `end` is under way
	 */
	void (*resource)(uint32_t cbid, const struct cupti_resource_data *data);
	/* a launch in this context (a CUcontext) has returned */
	void (*launch)(void *context);
	/* the subscription ends; the lock is held (base/lock.h) */
	void (*end)(void);
};
/* NULL: none from here on, but threads may be in one of its functions still. */
void api_calls_watch(const struct api_calls_watcher *watcher);
void api_calls_end_watch(void); /* calls `end` */

#endif
