/*
 * What libsprof-gpu.so knows of NVTX 3's binary interface, without its headers (the tests use
 * those). A program has one copy of NVTX per module that includes it. Each copy looks for a tool
 * once, at its first call, and passes it tables of the places where its function pointers are.
 */
#ifndef SPROF_GPU_AGENT_NVTX_ABI_H
#define SPROF_GPU_AGENT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum nvtx_export_table {
	NVTX_TABLE_CALLBACKS = 1,
	NVTX_TABLE_VERSION = 3,
};

enum nvtx_module {
	NVTX_MODULE_CORE = 1,
	NVTX_MODULE_CUDA = 2,
	NVTX_MODULE_CUDART = 4,
	NVTX_MODULE_CORE2 = 5,
};

/* Places in the tables of the modules. */
enum nvtx_core {
	NVTX_MARK_EX = 1,
	NVTX_MARK_A,
	NVTX_MARK_W,
	NVTX_RANGE_START_EX,
	NVTX_RANGE_START_A,
	NVTX_RANGE_START_W,
	NVTX_RANGE_END,
	NVTX_RANGE_PUSH_EX,
	NVTX_RANGE_PUSH_A,
	NVTX_RANGE_PUSH_W,
	NVTX_RANGE_POP,
	NVTX_NAME_CATEGORY_A,
	NVTX_NAME_CATEGORY_W,
	NVTX_NAME_OS_THREAD_A,
	NVTX_NAME_OS_THREAD_W,
};

enum nvtx_core2 {
	NVTX_DOMAIN_MARK_EX = 1,
	NVTX_DOMAIN_RANGE_START_EX,
	NVTX_DOMAIN_RANGE_END,
	NVTX_DOMAIN_RANGE_PUSH_EX,
	NVTX_DOMAIN_RANGE_POP,
	NVTX_DOMAIN_RESOURCE_CREATE,
	NVTX_DOMAIN_RESOURCE_DESTROY,
	NVTX_DOMAIN_NAME_CATEGORY_A,
	NVTX_DOMAIN_NAME_CATEGORY_W,
	NVTX_DOMAIN_REGISTER_STRING_A,
	NVTX_DOMAIN_REGISTER_STRING_W,
	NVTX_DOMAIN_CREATE_A,
	NVTX_DOMAIN_CREATE_W,
	NVTX_DOMAIN_DESTROY,
	NVTX_INITIALIZE,
};

enum nvtx_cuda {
	NVTX_NAME_CU_DEVICE_A = 1,
	NVTX_NAME_CU_DEVICE_W,
	NVTX_NAME_CU_CONTEXT_A,
	NVTX_NAME_CU_CONTEXT_W,
	NVTX_NAME_CU_STREAM_A,
	NVTX_NAME_CU_STREAM_W,
	NVTX_NAME_CU_EVENT_A,
	NVTX_NAME_CU_EVENT_W,
};

enum nvtx_cudart {
	NVTX_NAME_CUDA_DEVICE_A = 1,
	NVTX_NAME_CUDA_DEVICE_W,
	NVTX_NAME_CUDA_STREAM_A,
	NVTX_NAME_CUDA_STREAM_W,
	NVTX_NAME_CUDA_EVENT_A,
	NVTX_NAME_CUDA_EVENT_W,
};

enum nvtx_message_type {
	NVTX_MESSAGE_ASCII = 1,
	NVTX_MESSAGE_WIDE = 2,
	NVTX_MESSAGE_REGISTERED = 3,
};

#define NVTX_COLOR_ARGB 1
#define NVTX_NO_PUSH_POP_TRACKING (-2) /* returned by push and pop without a tool */

struct nvtx_event { /* nvtxEventAttributes_t */
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type; /* as enum gpu_payload_type */
	int32_t reserved;
	uint64_t payload;
	int32_t message_type; /* enum nvtx_message_type */
	int32_t pad;
	const void *message;
};
_Static_assert(sizeof(struct nvtx_event) == 48, "NVTX ABI");

typedef void (*nvtx_slot)(void);

struct nvtx_callbacks { /* NvtxExportTableCallbacks */
	size_t struct_size;
	int (*module_table)(uint32_t module, nvtx_slot ***ret_slots, uint32_t *ret_nr);
};

struct nvtx_version { /* NvtxExportTableVersionInfo */
	size_t struct_size;
	uint32_t version, reserved;
	void (*set_tool_version)(uint32_t version);
};

/* nvtxGlobals_v3: a copy of NVTX in the data of its module. */
struct nvtx_globals {
	uint32_t state;
	uint32_t pad;
	struct nvtx_callbacks callbacks;
	struct nvtx_version version;
	nvtx_slot first_slot; /* nvtxMarkEx */
};
#define NVTX_STATE_COMPLETE 2u
#define NVTX_VERSION 3u
_Static_assert(offsetof(struct nvtx_globals, version) == 24, "NVTX ABI");
_Static_assert(offsetof(struct nvtx_globals, first_slot) == 48, "NVTX ABI");

typedef const void *(*nvtx_get_table)(uint32_t table);

#endif
