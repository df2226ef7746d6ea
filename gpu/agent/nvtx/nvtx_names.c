/*
 * Programs name things early, often before they are recorded. So names are kept, up to a limit, and
 * recorded when collecting begins.
 */
#include "gpu/agent/nvtx/nvtx_names.h"

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/lane.h"
#include "gpu/agent/base/state.h"

#define MAX_NAMES 512u

static struct gpu_rec_name kept[MAX_NAMES];
static uint32_t nr_kept; /* atomic */

static void emit(const struct gpu_rec_name *r)
{
	struct lane lane;

	lane_open(AGENT_LANES - 1, &lane);
	lane_emit(&lane, &r->head);
}

void nvtx_name(enum gpu_name_kind kind, uint64_t id, uint32_t name, uint32_t domain)
{
	const struct gpu_rec_name r = {
		.id = id,
		.kind = kind,
		.name = name,
		.domain = domain,
		.head = { GPU_RECORD_NAME, sizeof(r), 0 },
	};
	uint32_t i = __atomic_fetch_add(&nr_kept, 1, __ATOMIC_ACQ_REL);

	if (i < MAX_NAMES)
		kept[i] = r;
	if (agent_collects())
		emit(&r);
}

void nvtx_names_emit(void)
{
	uint32_t nr = __atomic_load_n(&nr_kept, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr && i < MAX_NAMES; i++)
		if (kept[i].kind)
			emit(&kept[i]);
}

static void give(enum gpu_name_kind kind, uint64_t id, const char *name)
{
	if (*agent.alive)
		nvtx_name(kind, id, arena_cstring(name), 0);
}

static void give_wide(enum gpu_name_kind kind, uint64_t id, const wchar_t *name)
{
	if (*agent.alive)
		nvtx_name(kind, id, arena_wide_string(name), 0);
}

static void thread_a(uint32_t tid, const char *name)
{
	give(GPU_NAME_THREAD, tid, name);
}

static void thread_w(uint32_t tid, const wchar_t *name)
{
	give_wide(GPU_NAME_THREAD, tid, name);
}

static void device_a(int device, const char *name)
{
	give(GPU_NAME_DEVICE, (uint32_t)device, name);
}

static void device_w(int device, const wchar_t *name)
{
	give_wide(GPU_NAME_DEVICE, (uint32_t)device, name);
}

static void context_a(const void *context, const char *name)
{
	give(GPU_NAME_CONTEXT, (uintptr_t)context, name);
}

static void context_w(const void *context, const wchar_t *name)
{
	give_wide(GPU_NAME_CONTEXT, (uintptr_t)context, name);
}

static void stream_a(const void *stream, const char *name)
{
	give(GPU_NAME_STREAM, (uintptr_t)stream, name);
}

static void stream_w(const void *stream, const wchar_t *name)
{
	give_wide(GPU_NAME_STREAM, (uintptr_t)stream, name);
}

static void event_a(const void *event, const char *name)
{
	give(GPU_NAME_EVENT, (uintptr_t)event, name);
}

static void event_w(const void *event, const wchar_t *name)
{
	give_wide(GPU_NAME_EVENT, (uintptr_t)event, name);
}

#define SLOT(function) ((nvtx_slot)(function))

const struct nvtx_names *nvtx_names(uint32_t *ret_nr)
{
	static const struct nvtx_names names[] = {
		{ NVTX_MODULE_CORE, NVTX_NAME_OS_THREAD_A, SLOT(thread_a) },
		{ NVTX_MODULE_CORE, NVTX_NAME_OS_THREAD_W, SLOT(thread_w) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_DEVICE_A, SLOT(device_a) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_DEVICE_W, SLOT(device_w) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_CONTEXT_A, SLOT(context_a) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_CONTEXT_W, SLOT(context_w) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_STREAM_A, SLOT(stream_a) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_STREAM_W, SLOT(stream_w) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_EVENT_A, SLOT(event_a) },
		{ NVTX_MODULE_CUDA, NVTX_NAME_CU_EVENT_W, SLOT(event_w) },
		{ NVTX_MODULE_CUDART, NVTX_NAME_CUDA_DEVICE_A, SLOT(device_a) },
		{ NVTX_MODULE_CUDART, NVTX_NAME_CUDA_DEVICE_W, SLOT(device_w) },
		{ NVTX_MODULE_CUDART, NVTX_NAME_CUDA_STREAM_A, SLOT(stream_a) },
		{ NVTX_MODULE_CUDART, NVTX_NAME_CUDA_STREAM_W, SLOT(stream_w) },
		{ NVTX_MODULE_CUDART, NVTX_NAME_CUDA_EVENT_A, SLOT(event_a) },
		{ NVTX_MODULE_CUDART, NVTX_NAME_CUDA_EVENT_W, SLOT(event_w) },
	};

	*ret_nr = sizeof(names) / sizeof(names[0]);
	return names;
}

bool nvtx_set_slot(const struct nvtx_callbacks *callbacks, uint32_t module, uint32_t place,
		   nvtx_slot function, bool over)
{
	nvtx_slot **slots = NULL;
	uint32_t nr = 0;

	if (!callbacks->module_table(module, &slots, &nr) || !slots || place >= nr || !slots[place])
		return false;
	if (over || !*slots[place])
		__atomic_store_n(slots[place], function, __ATOMIC_RELEASE);
	return *slots[place] == function;
}
