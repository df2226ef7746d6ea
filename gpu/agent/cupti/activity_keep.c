/*
 * An activity record may come before its call has ended, as the callback runs after the driver is
 * done. Such records wait for the next look.
 */
#include "gpu/agent/cupti/activity_keep.h"

#include <string.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/fold.h"
#include "gpu/agent/base/lane.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/launch.h"
#include "gpu/agent/nvtx/capture.h"

#define MAX_WAITING 2048u
#define NAME_SLOTS 4096u

/* A cache by address. The text is compared too: another module may be loaded at the address. */
struct name_slot {
	const char *at;
	uint32_t id;
};

static struct name_slot names[NAME_SLOTS];
static union activity waiting[MAX_WAITING];
static uint32_t nr_waiting;
static uint64_t ignored_before; /* atomic: what ended earlier belonged to the last recorder */
static bool realtime;		/* atomic: CUPTI's clock is CLOCK_REALTIME */

void activity_set_clock(bool monotonic)
{
	__atomic_store_n(&realtime, !monotonic, __ATOMIC_RELAXED);
}

uint64_t activity_to_monotonic(uint64_t ns)
{
	const struct gpu_region *r = agent.region;
	uint32_t n = __atomic_load_n(&r->nr_clocks, __ATOMIC_ACQUIRE);
	const struct gpu_clock *c;

	if (!__atomic_load_n(&realtime, __ATOMIC_RELAXED) || !ns || !n)
		return ns;
	n--;
	c = &r->clocks[n < GPU_MAX_CLOCKS ? n : 1 + n % (GPU_MAX_CLOCKS - 1)];
	return ns - (c->realtime_ns - c->monotonic_ns);
}

uint32_t activity_name_id(const char *name)
{
	struct name_slot *slot = &names[((uintptr_t)name >> 3) % NAME_SLOTS];

	if (!name)
		return 0;
	if (slot->at != name || strcmp(arena_text(slot->id), name) != 0)
		*slot = (struct name_slot){ name, arena_cstring(name) };
	return slot->id;
}

void activity_emit(const struct gpu_record *record)
{
	static struct lane lane;

	if (!lane.shared)
		lane_open(0, &lane);
	lane_emit(&lane, record);
}

static uint8_t fold_kind(const union activity *r)
{
	switch (r->head.type) {
	case GPU_RECORD_KERNEL: return GPU_FOLD_KERNEL;
	case GPU_RECORD_MEMCPY: return GPU_FOLD_MEMCPY;
	case GPU_RECORD_MEMSET: return GPU_FOLD_MEMSET;
	case GPU_RECORD_SYNC: return GPU_FOLD_SYNC;
	case GPU_RECORD_GRAPH: return GPU_FOLD_GRAPH;
	case GPU_RECORD_MEMORY:
		return r->memory.op == GPU_MEMORY_ALLOC ? GPU_FOLD_ALLOC : GPU_FOLD_FREE;
	default: return 0;
	}
}

static void fold(const union activity *r)
{
	struct gpu_fold key = {
		.kind = fold_kind(r),
		.device = (uint16_t)r->work.device,
		.stack = r->work.stack,
		.range = r->work.range,
	};
	uint64_t bytes = 0;

	if (!key.kind)
		return;
	switch (r->head.type) {
	case GPU_RECORD_KERNEL:
		key.name = r->kernel.name;
		key.registers = r->kernel.registers;
		key.local_bytes = r->kernel.local_bytes;
		key.shared_static = r->kernel.shared_static;
		key.shared_dynamic = r->kernel.shared_dynamic;
		memcpy(key.grid, r->kernel.grid, sizeof(key.grid));
		memcpy(key.block, r->kernel.block, sizeof(key.block));
		break;
	case GPU_RECORD_MEMCPY:
		key.subkind = r->memcpy.copy_kind;
		bytes = r->memcpy.bytes;
		break;
	case GPU_RECORD_MEMSET:
		key.subkind = (uint8_t)r->memset.memory_kind;
		bytes = r->memset.bytes;
		break;
	case GPU_RECORD_SYNC: key.subkind = (uint8_t)r->sync.sync_type; break;
	case GPU_RECORD_MEMORY:
		key.subkind = (uint8_t)r->memory.memory_kind;
		bytes = r->memory.bytes;
		break;
	}
	fold_add(&key, r->work.end_ns - r->work.start_ns, bytes);
}

bool activity_find_call(union activity *r)
{
	struct launch_info info;

	if (!launch_find(r->work.correlation, &info))
		return false;
	r->work.stack = info.stack;
	r->work.range = info.range;
	r->head.tid = info.tid;
	return true;
}

void activity_keep(const union activity *r)
{
	fold(r);
	activity_emit(&r->head);
}

bool activity_is_timed(union activity *r)
{
	r->work.start_ns = activity_to_monotonic(r->work.start_ns);
	r->work.end_ns = activity_to_monotonic(r->work.end_ns);
	if (r->work.start_ns && r->work.end_ns && r->work.end_ns >= r->work.start_ns)
		return true;
	agent_count(GPU_COUNT_UNTIMED, 1);
	report_words(
		GPU_FAIL_UNTIMED, 0,
		"CUPTI delivers records without times (its device buffers are exhausted): they "
		"are counted, but in no sum");
	return false;
}

/* For work whose call was outside the capture windows, or was not seen. */
static void take_without_call(const union activity *r)
{
	if (capture_kind()) {
		agent_count(GPU_COUNT_OUTSIDE, 1);
		return;
	}
	agent_count(GPU_COUNT_NO_LAUNCH, 1);
	activity_keep(r);
}

void activity_forget(void)
{
	__atomic_store_n(&ignored_before, clock_now_ns(), __ATOMIC_RELAXED);
}

void activity_take(union activity *r)
{
	if (!activity_is_timed(r) ||
	    r->work.end_ns < __atomic_load_n(&ignored_before, __ATOMIC_RELAXED))
		return;
	if (r->work.correlation ? activity_find_call(r) : capture_is_open())
		activity_keep(r);
	else if (nr_waiting < MAX_WAITING && capture_is_open())
		waiting[nr_waiting++] = *r;
	else
		take_without_call(r);
}

void activity_settle_waiting(bool last)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr_waiting; i++) {
		/* while it waits, `reserved` counts the looks that found no call */
		if (activity_find_call(&waiting[i])) {
			waiting[i].work.reserved = 0;
			activity_keep(&waiting[i]);
		} else if (last || waiting[i].work.reserved++) {
			waiting[i].work.reserved = 0;
			take_without_call(&waiting[i]);
		} else {
			waiting[kept++] = waiting[i];
		}
	}
	nr_waiting = kept;
}
