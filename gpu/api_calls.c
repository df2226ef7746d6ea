/*
 * CUPTI counts correlation ids up, so an array indexed by their low bits is a ring of the last
 * calls. A call that leaves the ring while it is awaited, as that of a kernel that runs for many
 * seconds, goes into a small table.
 */
#include "gpu/api_calls.h"

#include <stdlib.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"

#define SLOTS (1u << 17) /* 6 MiB: more launches than usually wait for the GPU */
#define MAX_KEPT (1u << 15)
#define MAX_AWAITED (1u << 20)	   /* 16 MiB */
#define GRAPH_QUIET_NS 2000000000u /* without records for that time, a graph has ended */

struct kept_call {
	struct api_call call;
	UT_hash_handle hh;
};

static bool awaits_record(const struct api_calls *calls, const struct gpu_rec_api *record)
{
	if (record->result)
		return false;
	switch (record->api_class) {
	case GPU_API_LAUNCH: return calls->want & GPU_WANT_KERNELS;
	case GPU_API_GRAPH_LAUNCH:
		return record->start_ns > calls->graph_lost_ns &&
		       calls->want & (GPU_WANT_KERNELS | GPU_WANT_GRAPH_TRACE);
	case GPU_API_MEMCPY: return calls->want & GPU_WANT_MEMCPY;
	case GPU_API_MEMSET: return calls->want & GPU_WANT_MEMSET;
	default: return false;
	}
}

static void heap_push(struct api_calls *calls, const struct api_call *call)
{
	size_t at = calls->nr_awaited++;
	struct awaited_call *h;

	calls->awaited =
		xgrow(calls->awaited, &calls->awaited_capacity, calls->nr_awaited, sizeof(*h));
	h = calls->awaited;
	for (; at && h[(at - 1) / 2].start_ns > call->start_ns; at = (at - 1) / 2)
		h[at] = h[(at - 1) / 2];
	h[at] = (struct awaited_call){ call->start_ns, call->correlation };
}

static void heap_pop(struct api_calls *calls)
{
	struct awaited_call *h = calls->awaited, last = h[--calls->nr_awaited];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < calls->nr_awaited) {
		if (child + 1 < calls->nr_awaited && h[child + 1].start_ns < h[child].start_ns)
			child++;
		if (h[child].start_ns >= last.start_ns)
			break;
		h[at] = h[child];
		at = child;
	}
	h[at] = last;
}

static void keep(struct api_calls *calls, const struct api_call *call)
{
	struct kept_call *kept;

	if (!call->is_awaited || calls->nr_kept >= MAX_KEPT)
		return;
	kept = xcalloc(1, sizeof(*kept));
	kept->call = *call;
	HASH_ADD(hh, calls->kept, call.correlation, sizeof(kept->call.correlation), kept);
	calls->nr_kept++;
}

void api_calls_add(struct api_calls *calls, const struct gpu_rec_api *record)
{
	struct api_call *slot;

	if (!record->correlation)
		return;
	if (!calls->slots)
		calls->slots = xcalloc(SLOTS, sizeof(*calls->slots));
	slot = &calls->slots[record->correlation & (SLOTS - 1)];
	if (slot->correlation != record->correlation)
		keep(calls, slot);
	*slot = (struct api_call){
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.correlation = record->correlation,
		.tid = record->head.tid,
		.stack = record->stack,
		.name = record->name,
		.api_class = record->api_class,
		.is_awaited = calls->nr_awaited < MAX_AWAITED && awaits_record(calls, record),
	};
	if (slot->is_awaited)
		heap_push(calls, slot);
}

static struct kept_call *find_kept(const struct api_calls *calls, uint32_t correlation)
{
	struct kept_call *kept = NULL;

	if (calls->kept)
		HASH_FIND(hh, calls->kept, &correlation, sizeof(correlation), kept);
	return kept;
}

static struct api_call *find(const struct api_calls *calls, uint32_t correlation)
{
	struct kept_call *kept;
	struct api_call *c;

	if (!calls->slots || !correlation)
		return NULL;
	c = &calls->slots[correlation & (SLOTS - 1)];
	if (c->correlation == correlation)
		return c;
	kept = find_kept(calls, correlation);
	return kept ? &kept->call : NULL;
}

const struct api_call *api_calls_find(const struct api_calls *calls, uint32_t correlation)
{
	return find(calls, correlation);
}

void api_calls_has_record(struct api_calls *calls, uint32_t correlation, uint32_t graph,
			  uint64_t now_ns)
{
	struct api_call *call = find(calls, correlation);

	if (!call) {
		if (graph) {
			calls->nr_graph_lost++;
			calls->graph_lost_ns = now_ns;
		}
		return;
	}
	call->record_ns = now_ns;
	if (call->api_class != GPU_API_GRAPH_LAUNCH)
		call->is_awaited = false;
}

static bool is_awaited(const struct api_calls *calls, const struct api_call *call, uint64_t now_ns)
{
	if (!call || !call->is_awaited || call->start_ns <= calls->lost_ns)
		return false;
	if (call->api_class != GPU_API_GRAPH_LAUNCH)
		return true;
	return call->start_ns > calls->graph_lost_ns &&
	       (!call->record_ns || now_ns < call->record_ns + GRAPH_QUIET_NS);
}

uint64_t api_calls_oldest_awaited(struct api_calls *calls, uint64_t now_ns)
{
	while (calls->nr_awaited) {
		const struct awaited_call *oldest = &calls->awaited[0];
		struct api_call *call = find(calls, oldest->correlation);
		struct kept_call *kept;

		if (is_awaited(calls, call, now_ns))
			return oldest->start_ns;
		if (call) /* or it would be kept when it leaves the ring */
			call->is_awaited = false;
		kept = find_kept(calls, oldest->correlation);
		if (kept) {
			HASH_DEL(calls->kept, kept);
			free(kept);
			calls->nr_kept--;
		}
		heap_pop(calls);
	}
	return UINT64_MAX;
}

static bool is_open(const struct api_call *call)
{
	return call->is_awaited && call->api_class == GPU_API_LAUNCH;
}

uint64_t api_calls_nr_open(const struct api_calls *calls)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; calls->slots && i < SLOTS; i++)
		nr += is_open(&calls->slots[i]);
	for (const struct kept_call *kept = calls->kept; kept; kept = kept->hh.next)
		nr += is_open(&kept->call);
	return nr;
}

void api_calls_fini(struct api_calls *calls)
{
	struct kept_call *kept, *next;

	HASH_ITER (hh, calls->kept, kept, next) {
		HASH_DEL(calls->kept, kept);
		free(kept);
	}
	free(calls->awaited);
	free(calls->slots);
}
