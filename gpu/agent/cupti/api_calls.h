/* The callback that CUPTI makes at each API call: what was called, how long it took, from where. */
#ifndef SPROF_GPU_AGENT_API_CALLS_H
#define SPROF_GPU_AGENT_API_CALLS_H

#include <stdbool.h>

#include "gpu/agent/cupti/cupti_abi.h"

/* cupti_callback_fn */
void api_calls_callback(void *user, uint32_t domain, uint32_t cbid,
			const struct cupti_callback_data *data);
/* Which class a call of that name is of, by the driver's naming; enum gpu_api_class. */
uint32_t api_calls_class_of(const char *name);
/* Before callbacks are enabled. domain: enum gpu_api_domain. */
void api_calls_set_class(uint32_t domain, uint32_t cbid, uint32_t api_class);
/* Which calls get a stack: 1 << enum gpu_api_class, and how long they must have taken at least. */
void api_calls_set_stacks(uint32_t api_classes, uint64_t min_ticks);
/*
 * The next callback at a call's exit calls `finalize`, once: CUPTI wants to be unloaded from there.
 * NULL takes that back: true where nobody has called it, and nobody will.
 */
bool api_calls_finalize_next(int (*finalize)(void));
bool api_calls_finalized(void); /* it has been called, and has returned */

#endif
