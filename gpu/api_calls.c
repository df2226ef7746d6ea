/*
 * CUPTI counts correlation ids up, so an array indexed by their low bits is a ring of the last
 * calls.
 */
#include "gpu/api_calls.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"

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
		.is_open = record->api_class == GPU_API_LAUNCH && !record->result,
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

void api_calls_close(struct api_calls *calls, const struct api_call *call)
{
	calls->slots[call->correlation & (SLOTS - 1)].is_open = false;
	if (call->start_ns > calls->recorded_ns)
		calls->recorded_ns = call->start_ns;
}

uint64_t api_calls_nr_open(const struct api_calls *calls)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; calls->slots && i < SLOTS; i++)
		nr += calls->slots[i].is_open && calls->slots[i].start_ns > calls->recorded_ns;
	return nr;
}

void api_calls_fini(struct api_calls *calls)
{
	free(calls->slots);
}
