/*
 * What libsprof-gpu.so knows of CUPTI's binary interface, without NVIDIA's headers.
 *
 * Records are read as prefixes: every field here has the same offset in every version of its
 * record from CUDA 11.0 to 13.5 (Kernel4..13, Memcpy..7, MemcpyPtoP..4, Memset..5, Memory2..4,
 * MemoryPool..3, Synchronization..2, Overhead..3, GraphTrace..2, Device2..6).
 * tests/gpu/real_headers.py checks that against the headers of 11.8, 12.9, 13.0 and 13.5. The
 * distance between records, which is their length, is asked of cuptiActivityGetNextRecord; fields
 * that came later are read only if the length has them.
 *
 * Names are CUPTI's, in lower case; sizes are those of the prefix.
 */
#ifndef SPROF_GPU_AGENT_CUPTI_ABI_H
#define SPROF_GPU_AGENT_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_ERROR_INVALID_OPERATION = 7,
	CUPTI_ERROR_OUT_OF_MEMORY = 8,
	CUPTI_ERROR_MAX_LIMIT_REACHED = 12, /* of GetNextRecord: no more records */
	CUPTI_ERROR_NOT_COMPATIBLE = 14,
	CUPTI_ERROR_NOT_INITIALIZED = 15,
	CUPTI_ERROR_INVALID_KIND = 21,
	CUPTI_ERROR_HARDWARE_BUSY = 26,
	CUPTI_ERROR_NOT_SUPPORTED = 27,
	CUPTI_ERROR_VIRTUAL_DEVICE = 33,
	CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_ERROR_OLD_PROFILER_API = 36,
	CUPTI_ERROR_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_ERROR_VIRTUAL_DEVICE_PRIVILEGES = 40,
	CUPTI_ERROR_CONFIDENTIAL_COMPUTING = 41,
	CUPTI_ERROR_MINING_DEVICE = 42,
	CUPTI_ERROR_MIG_DEVICE = 43,
	CUPTI_ERROR_WSL_DEVICE = 45,
	CUPTI_ERROR_UNKNOWN = 999, /* CUPTI 13 without a usable driver, and more: refusal.h */
};

enum cupti_domain {
	CUPTI_DRIVER_API = 1,
	CUPTI_RUNTIME_API = 2,
	CUPTI_RESOURCE = 3,
};

enum cupti_site {
	CUPTI_API_ENTER = 0,
	CUPTI_API_EXIT = 1,
};

enum cupti_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_KERNEL = 3,
	CUPTI_KIND_DEVICE = 8,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_OVERHEAD = 17,
	CUPTI_KIND_MEMCPY2 = 22, /* peer to peer */
	CUPTI_KIND_SYNCHRONIZATION = 38,
	CUPTI_KIND_MEMORY2 = 49,
	CUPTI_KIND_MEMORY_POOL = 50,
	CUPTI_KIND_GRAPH_TRACE = 51,
};

/* For cuptiActivitySetAttribute. Values are size_t, except the flags 5 and 9: uint8_t. */
enum cupti_attribute {
	CUPTI_ATTR_DEVICE_BUFFER_SIZE = 0,
	CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
	CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,
	CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER = 9, /* in 12.9, not yet in 12.1 */
};

#define CUPTI_FLUSH_FORCED 1u
#define CUPTI_API_FINALIZE_WITH_GRAPHS 24u /* CUDA 12.6: cuptiFinalize survives graphs */
/*
 * From CUDA 13.0 to 13.1: cuGraphLaunch and its kernels get wrong correlation ids in all sessions
 * but the first (release notes of 13.1 update 1, which also say no more than that).
 */
#define CUPTI_API_WRONG_GRAPH_IDS 130000u
#define CUPTI_API_RIGHT_GRAPH_IDS 130101u

/* Driver calls that are recorded even if cuptiGetCallbackName is missing. */
enum cupti_driver_cbid {
	CUPTI_CBID_LAUNCH_KERNEL = 307,
	CUPTI_CBID_PROFILER_START = 308,
	CUPTI_CBID_PROFILER_STOP = 309,
	CUPTI_CBID_LAUNCH_KERNEL_PTSZ = 442,
	CUPTI_CBID_LAUNCH_COOPERATIVE = 477,
	CUPTI_CBID_LAUNCH_COOPERATIVE_PTSZ = 478,
	CUPTI_CBID_LAUNCH_COOPERATIVE_MULTI = 480,
	CUPTI_CBID_GRAPH_LAUNCH = 514,
	CUPTI_CBID_GRAPH_LAUNCH_PTSZ = 515,
	CUPTI_CBID_LAUNCH_KERNEL_EX = 652,
	CUPTI_CBID_LAUNCH_KERNEL_EX_PTSZ = 653,
};

/* Of CUPTI_RESOURCE. */
enum cupti_resource_cbid {
	CUPTI_CBID_CONTEXT_CREATED = 1,
	CUPTI_CBID_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_CBID_MODULE_LOADED = 6,
	CUPTI_CBID_NODE_CREATED = 13, /* of a graph */
	CUPTI_CBID_NODE_CLONED = 20,  /* as when a graph is made executable */
};

struct cupti_graph_data {
	void *graph, *original_graph;
	void *node, *original_node; /* original_node: of NODE_CLONED */
};
_Static_assert(offsetof(struct cupti_graph_data, original_node) == 24, "CUPTI ABI");

struct cupti_resource_data {
	void *context;
	void *handle;
	const struct cupti_graph_data *graph;
};
_Static_assert(offsetof(struct cupti_resource_data, graph) == 16, "CUPTI ABI");

struct cupti_callback_data {
	uint32_t site; /* enum cupti_site */
	uint32_t pad;
	const char *function_name;
	const void *function_params;
	void *function_return_value; /* CUresult *, at exit */
	const char *symbol_name;
	void *context;
	uint32_t context_uid;
	uint32_t pad2;
	uint64_t *correlation_data; /* a word of ours, kept from enter to exit */
	uint32_t correlation_id;
};
_Static_assert(offsetof(struct cupti_callback_data, function_name) == 8, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_callback_data, function_return_value) == 24, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_callback_data, context) == 40, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_callback_data, correlation_data) == 56, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_callback_data, correlation_id) == 64, "CUPTI ABI");

/* Records are 8-byte aligned; some 8-byte fields within them are not. */
#define CUPTI_RECORD __attribute__((packed, aligned(8)))

struct cupti_record {
	uint32_t kind;
};

struct CUPTI_RECORD cupti_kernel {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint64_t pad8;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	uint64_t pad112;
	uint64_t queued, submitted;
	uint8_t launch_type[8];
	uint64_t graph_node; /* Kernel5 */
	uint32_t pad152;
	uint32_t graph; /* Kernel6 */
};
#define CUPTI_KERNEL_SIZE 144	    /* Kernel4 */
#define CUPTI_KERNEL_NODE_SIZE 160  /* Kernel5: graph_node */
#define CUPTI_KERNEL_GRAPH_SIZE 168 /* Kernel6: graph too */
_Static_assert(offsetof(struct cupti_kernel, registers) == 6, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, start) == 16, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, device) == 40, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, grid) == 52, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, static_shared) == 76, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, local_per_thread) == 84, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, correlation) == 92, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, queued) == 120, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, graph_node) == 144, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_kernel, graph) == 156, "CUPTI ABI");

struct CUPTI_RECORD cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, source_kind, destination_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint32_t runtime_correlation;
	uint32_t pad52;
	uint64_t pad56;
	uint64_t graph_node;
	uint32_t graph; /* Memcpy4 */
};
#define CUPTI_MEMCPY_SIZE 64
#define CUPTI_MEMCPY_GRAPH_SIZE 80
_Static_assert(offsetof(struct cupti_memcpy, bytes) == 8, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy, device) == 32, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy, correlation) == 44, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy, graph_node) == 64, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy, graph) == 72, "CUPTI ABI");

struct CUPTI_RECORD cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind, source_kind, destination_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t source_device, source_context;
	uint32_t destination_device, destination_context;
	uint32_t correlation;
	uint64_t pad64;
	uint64_t graph_node; /* MemcpyPtoP2 */
	uint32_t graph;	     /* MemcpyPtoP3 */
};
#define CUPTI_MEMCPY_PEER_SIZE 72
#define CUPTI_MEMCPY_PEER_GRAPH_SIZE 88
_Static_assert(offsetof(struct cupti_memcpy_peer, source_device) == 44, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy_peer, destination_device) == 52, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy_peer, correlation) == 60, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy_peer, graph_node) == 72, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memcpy_peer, graph) == 80, "CUPTI ABI");

struct CUPTI_RECORD cupti_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint16_t flags, memory_kind;
	uint32_t pad52;
	uint64_t pad56;
	uint64_t graph_node; /* Memset2 */
	uint32_t graph;	     /* Memset3 */
};
#define CUPTI_MEMSET_SIZE 64
#define CUPTI_MEMSET_GRAPH_SIZE 80
_Static_assert(offsetof(struct cupti_memset, bytes) == 8, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memset, device) == 32, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memset, correlation) == 44, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memset, memory_kind) == 50, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memset, graph_node) == 64, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memset, graph) == 72, "CUPTI ABI");

struct CUPTI_RECORD cupti_synchronization {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
};
#define CUPTI_SYNCHRONIZATION_SIZE 40
_Static_assert(sizeof(struct cupti_synchronization) == CUPTI_SYNCHRONIZATION_SIZE, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_synchronization, correlation) == 24, "CUPTI ABI");

struct CUPTI_RECORD cupti_overhead {
	uint32_t kind, overhead_kind;
	uint32_t object_kind, object_id[3];
	uint64_t start, end;
	uint32_t correlation; /* Overhead2 */
};
#define CUPTI_OVERHEAD_SIZE 40
#define CUPTI_OVERHEAD_CORRELATION_SIZE 48
_Static_assert(offsetof(struct cupti_overhead, start) == 24, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_overhead, correlation) == 40, "CUPTI ABI");

struct CUPTI_RECORD cupti_graph_trace {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
};
#define CUPTI_GRAPH_TRACE_SIZE 40
_Static_assert(sizeof(struct cupti_graph_trace) == CUPTI_GRAPH_TRACE_SIZE, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_graph_trace, graph) == 28, "CUPTI ABI");

struct CUPTI_RECORD cupti_memory2 {
	uint32_t kind, op, memory_kind, correlation;
	uint64_t address, bytes, timestamp, pc;
	uint32_t pid, device, context, stream;
	const char *name;
	uint32_t is_async, pad76;
	uint32_t pool_type, pad84;
	uint64_t pool, pool_release_threshold;
	uint64_t pool_size; /* if CUPTI_POOL_LOCAL: device memory that the pool holds */
};
#define CUPTI_MEMORY2_SIZE 112
#define CUPTI_POOL_LOCAL 1
_Static_assert(sizeof(struct cupti_memory2) == CUPTI_MEMORY2_SIZE, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memory2, pool_size) == 104, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memory2, address) == 16, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memory2, device) == 52, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memory2, name) == 64, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memory2, pool) == 88, "CUPTI ABI");

struct CUPTI_RECORD cupti_memory_pool {
	uint32_t kind, op, pool_type, correlation, pid, device;
	uint64_t min_bytes_to_keep, address, size, release_threshold, timestamp;
};
#define CUPTI_MEMORY_POOL_SIZE 64
_Static_assert(offsetof(struct cupti_memory_pool, address) == 32, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_memory_pool, timestamp) == 56, "CUPTI ABI");

struct CUPTI_RECORD cupti_device {
	uint32_t kind, flags;
	uint64_t bandwidth_kb_s, memory_bytes;
	uint32_t constant_bytes, l2_bytes;
	uint32_t warp_threads, core_clock_khz, copy_engines, nr_sms, max_ipc;
	uint32_t max_warps_per_sm, max_blocks_per_sm, max_shared_per_sm, max_registers_per_sm;
	uint32_t max_registers_per_block, max_shared_per_block, max_threads_per_block;
	uint32_t max_block_dim[3], max_grid_dim[3];
	uint32_t cc_major, cc_minor;
	uint32_t id, ecc;
	uint8_t uuid[16];
	const char *name;
};
#define CUPTI_DEVICE_SIZE 144
_Static_assert(sizeof(struct cupti_device) == CUPTI_DEVICE_SIZE, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_device, nr_sms) == 44, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_device, cc_major) == 104, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_device, id) == 112, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_device, name) == 136, "CUPTI ABI");

typedef void (*cupti_callback_fn)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*cupti_buffer_requested_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed_fn)(void *context, uint32_t stream, uint8_t *buffer,
					  size_t size, size_t valid_size);
typedef uint64_t (*cupti_timestamp_fn)(void);

/* Of cuptiSubscribe_v2 (CUDA 13.0), the only function that can name the current subscriber. */
struct cupti_subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
};
_Static_assert(sizeof(struct cupti_subscriber_params) == 32, "CUPTI ABI");

#endif
