/*
 * The records in the rings, and the rows of samples inside kernels. gpu/agent/base/region.h says
 * how rings work and what ids mean; the same rule holds here: append-only, a number never gets a
 * second meaning.
 */
#ifndef SPROF_GPU_AGENT_RECORDS_H
#define SPROF_GPU_AGENT_RECORDS_H

#include <stdint.h>

enum gpu_record_type {
	GPU_RECORD_PAD = 1,
	GPU_RECORD_API = 2,
	GPU_RECORD_KERNEL = 3,
	GPU_RECORD_MEMCPY = 4,
	GPU_RECORD_MEMSET = 5,
	GPU_RECORD_SYNC = 6,
	GPU_RECORD_OVERHEAD = 7,
	GPU_RECORD_GRAPH = 8,
	GPU_RECORD_MEMORY = 9,
	GPU_RECORD_POOL = 10,
	GPU_RECORD_RANGE = 11,
	GPU_RECORD_MARK = 12,
	GPU_RECORD_NAME = 13,
	GPU_RECORD_DROPS = 14,
	GPU_RECORD_UNTIMED = 15,
};

struct gpu_record {
	uint16_t type; /* enum gpu_record_type */
	uint16_t size; /* bytes of the record, this head included; a multiple of 8 */
	uint32_t tid;  /* the calling thread, as the target sees it; 0 = unknown */
};
_Static_assert(sizeof(struct gpu_record) == 8, "shared");

/*
 * A call of a class that is recorded: launches, copies, sets, allocations, synchronization,
 * capture.
 */
struct gpu_rec_api {
	struct gpu_record head;
	uint64_t start_ns, end_ns;
	uint32_t correlation;
	uint32_t stack; /* 0: not wanted, or failed (counted) */
	uint32_t range; /* innermost push/pop range of the thread */
	uint32_t name;	/* string */
	uint16_t cbid;
	uint8_t domain;	   /* enum gpu_api_domain */
	uint8_t api_class; /* enum gpu_api_class */
	int32_t result;	   /* CUresult or cudaError_t */
};
_Static_assert(sizeof(struct gpu_rec_api) == 48, "shared");

/* Common to all GPU work. tid, stack and range are those of the call that caused it. */
struct gpu_work {
	struct gpu_record head;
	uint64_t start_ns, end_ns;
	uint32_t correlation;
	uint32_t stack;
	uint32_t range;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph;	 /* id of the executable graph it ran in; 0 = no graph */
	uint32_t window; /* in which it was launched (enum gpu_level); 0 = none */
	uint64_t graph_node;
};
_Static_assert(sizeof(struct gpu_work) == 64, "shared");

struct gpu_rec_kernel {
	struct gpu_work work;
	uint64_t queued_ns, submitted_ns; /* 0 = unknown */
	uint32_t name;			  /* string, mangled */
	uint32_t registers;		  /* per thread */
	uint32_t grid[3], block[3];
	uint32_t shared_static, shared_dynamic; /* bytes */
	uint32_t local_bytes;			/* per thread */
	uint32_t flops; /* entry of gpu_region.flops: the call that launched it; 0 = none */
};
_Static_assert(sizeof(struct gpu_rec_kernel) == 128, "shared");

/* CUpti_ActivityMemcpyKind: 1 HtoD, 2 DtoH, 3 HtoA, 4 AtoH, 5 AtoA, 6 AtoD, 7 DtoA, 8 DtoD, 9 HtoH,
 * 10 PtoP. CUpti_ActivityMemoryKind: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed,
 * 6 device static, 7 managed static. */
struct gpu_rec_memcpy {
	struct gpu_work work;
	uint64_t bytes;
	uint8_t copy_kind, source_kind, destination_kind;
	uint8_t flags;				    /* 1 = asynchronous */
	uint32_t source_device, destination_device; /* = work.device except for PtoP */
	uint32_t reserved;
};
_Static_assert(sizeof(struct gpu_rec_memcpy) == 88, "shared");

struct gpu_rec_memset {
	struct gpu_work work;
	uint64_t bytes;
	uint32_t value;
	uint16_t memory_kind;
	uint16_t flags; /* 1 = asynchronous */
};
_Static_assert(sizeof(struct gpu_rec_memset) == 80, "shared");

/*
 * work.device and graph are 0. sync_type: CUpti_ActivitySynchronizationType: 1 event, 2 stream
 * waits for event, 3 stream, 4 context.
 */
struct gpu_rec_sync {
	struct gpu_work work;
	uint32_t sync_type;
	uint32_t event;
};
_Static_assert(sizeof(struct gpu_rec_sync) == 72, "shared");

/* CUpti_ActivityOverheadKind: 1 compiler, 1 << 16 buffer flush, 2 << 16 instrumentation,
 * 3 << 16 resource, 4 << 16 runtime-triggered module loading, 5 << 16 lazy loading, ... */
struct gpu_rec_overhead {
	struct gpu_record head;
	uint64_t start_ns, end_ns;
	uint32_t overhead_kind;
	uint32_t correlation;
};
_Static_assert(sizeof(struct gpu_rec_overhead) == 32, "shared");

struct gpu_rec_graph { /* GRAPH_TRACE: one launch of a whole graph, work.graph is its id */
	struct gpu_work work;
};
_Static_assert(sizeof(struct gpu_rec_graph) == 64, "shared");

enum gpu_memory_op {
	GPU_MEMORY_ALLOC = 1,
	GPU_MEMORY_FREE = 2,
};

struct gpu_rec_memory {
	struct gpu_work work; /* start_ns == end_ns: when it happened */
	uint64_t address, bytes;
	uint64_t pool; /* address of the pool it came from, 0 = none */
	uint32_t op;   /* enum gpu_memory_op */
	uint32_t memory_kind;
	uint64_t pool_bytes; /* device memory that the pool holds; 0: a foreign pool */
};
_Static_assert(sizeof(struct gpu_rec_memory) == 104, "shared");

enum gpu_pool_op {
	GPU_POOL_CREATED = 1,
	GPU_POOL_DESTROYED = 2,
	GPU_POOL_TRIMMED = 3,
};

struct gpu_rec_pool {
	struct gpu_work work;
	uint64_t address;
	uint64_t size_bytes; /* reserved by the pool */
	uint32_t op;	     /* enum gpu_pool_op */
	uint32_t reserved;
};
_Static_assert(sizeof(struct gpu_rec_pool) == 88, "shared");

enum gpu_range_kind {
	GPU_RANGE_PUSH_POP = 1,
	GPU_RANGE_START_END = 2, /* may end on another thread; head.tid started it */
};
enum gpu_range_flags {
	GPU_RANGE_OPEN = 1, /* it was still open when collection stopped; end_ns is that moment */
};

/* nvtxPayloadType_t */
enum gpu_payload_type {
	GPU_PAYLOAD_NONE = 0,
	GPU_PAYLOAD_U64 = 1,
	GPU_PAYLOAD_I64 = 2,
	GPU_PAYLOAD_DOUBLE = 3,
	GPU_PAYLOAD_U32 = 4,
	GPU_PAYLOAD_I32 = 5,
	GPU_PAYLOAD_FLOAT = 6,
};

struct gpu_rec_range {
	struct gpu_record head;
	uint64_t start_ns, end_ns;
	uint32_t range; /* push/pop: the node (path); start/end: 0 */
	uint32_t name;	/* strings */
	uint32_t domain;
	uint32_t category;
	uint32_t color;
	uint8_t kind;  /* enum gpu_range_kind */
	uint8_t flags; /* enum gpu_range_flags */
	uint8_t payload_type;
	uint8_t reserved;
	uint64_t payload; /* bits of the value */
};
_Static_assert(sizeof(struct gpu_rec_range) == 56, "shared");

struct gpu_rec_mark {
	struct gpu_record head;
	uint64_t time_ns;
	uint32_t range; /* innermost range around it */
	uint32_t name;	/* strings */
	uint32_t domain;
	uint32_t category;
	uint32_t color;
	uint32_t payload_type;
	uint64_t payload;
};
_Static_assert(sizeof(struct gpu_rec_mark) == 48, "shared");

enum gpu_name_kind {
	GPU_NAME_THREAD = 1,   /* id = tid */
	GPU_NAME_CATEGORY = 2, /* id = category, of `domain` */
	GPU_NAME_DEVICE = 3,
	GPU_NAME_CONTEXT = 4, /* id = address of the CUcontext */
	GPU_NAME_STREAM = 5,  /* id = address of the CUstream */
	GPU_NAME_EVENT = 6,
};

struct gpu_rec_name {
	struct gpu_record head;
	uint64_t id;
	uint32_t kind; /* enum gpu_name_kind */
	uint32_t name; /* strings */
	uint32_t domain;
	uint32_t reserved;
};
_Static_assert(sizeof(struct gpu_rec_name) == 32, "shared");

struct gpu_rec_untimed { /* work of this call has no times, and so no other record */
	struct gpu_record head;
	uint32_t correlation;
	uint32_t reserved;
};
_Static_assert(sizeof(struct gpu_rec_untimed) == 16, "shared");

struct gpu_rec_drops { /* CUPTI dropped records, somewhere before this moment */
	struct gpu_record head;
	uint64_t time_ns;
	uint64_t nr;
	uint32_t context;
	uint32_t stream;
};
_Static_assert(sizeof(struct gpu_rec_drops) == 32, "shared");

/* Whether a row of samples has a source line. */
enum gpu_pc_line {
	GPU_PC_LINE_AWAITED = 0, /* not looked up yet */
	GPU_PC_LINE_KNOWN = 1,
	GPU_PC_LINE_NONE = 2,	 /* the code was built without lines */
	GPU_PC_LINE_NO_CODE = 3, /* the code was loaded before us, or found no room */
};

/*
 * How often warps were sampled at an instruction, and why they did not go on. Every sampled warp is
 * in `samples` of one reason.
 */
struct gpu_pc_row {
	uint32_t used;	     /* 1: the key, up to range, is filled; written last (release) */
	uint32_t function;   /* string: mangled */
	uint64_t cubin;	     /* CRC of the code, by CUPTI */
	uint64_t pc;	     /* from the start of the function */
	uint32_t stall;	     /* string: why the warp waited, as CUPTI calls it */
	uint32_t stack;	     /* of the launch; 0 without GPU_WANT_PC_STACKS */
	uint32_t range;	     /* of the launch */
	uint32_t line_state; /* enum gpu_pc_line; written after the next two (release) */
	uint32_t file;	     /* string: the path */
	uint32_t line;
	uint64_t samples;
	uint64_t idle_samples; /* of them, in cycles in which the scheduler issued nothing at all */
};
_Static_assert(sizeof(struct gpu_pc_row) == 64, "shared");

#endif
