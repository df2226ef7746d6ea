/*
 * CUPTI counts correlation ids up, so an array indexed by their low bits is a ring of the last
 * calls.
 */
#include "gpu/api_calls.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "gpu/agent/base/records.h"

#define SLOTS (1u << 17) /* 5 MiB: more launches than can wait for the GPU */

void api_calls_add(struct api_calls *calls, const struct gpu_rec_api *record)
{
	if (!record->correlation)
		return;
	if (!calls->slots)
		calls->slots = xcalloc(SLOTS, sizeof(*calls->slots));
	calls->slots[record->correlation & (SLOTS - 1)] = (struct api_call){
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.correlation = record->correlation,
		.tid = record->head.tid,
		.stack = record->stack,
		.name = record->name,
		.api_class = record->api_class,
	};
}

const struct api_call *api_calls_find(const struct api_calls *calls, uint32_t correlation)
{
	const struct api_call *c;

	if (!calls->slots || !correlation)
		return NULL;
	c = &calls->slots[correlation & (SLOTS - 1)];
	return c->correlation == correlation ? c : NULL;
}

void api_calls_fini(struct api_calls *calls)
{
	free(calls->slots);
}
