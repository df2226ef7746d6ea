/*
 * The shared memory between libsprof-gpu.so inside a target and the recorder: the whole contract.
 *
 * The agent makes a memfd of region_bytes, maps it, and sends it with SCM_RIGHTS in its first
 * message (struct gpu_hello) on a Unix SOCK_SEQPACKET socket. The recorder maps it, writes
 * `config`, stores `control`, and sends one byte whenever it changes `control`. Hanging up means
 * GPU_CONTROL_DETACH. The memfd outlives the target: what was written before the target died can
 * be read. A message with two descriptors brings the target's unwind rows
 * (core/portable/walk_tables.h: arena, space); without them stacks are walked by frame pointers.
 *
 * Contents; all offsets from the start of the region, all little-endian:
 *
 *	strings	 append-only arena of struct gpu_string; a string id is offset / 8, 0 is ""
 *	stacks	 append-only arena of struct gpu_stack; a stack id is offset / 8, 0 is "no stack"
 *	ranges	 array of struct gpu_range_node, one per path of NVTX ranges; id 0 is "none"
 *	folds	 array of struct gpu_fold: exact sums of everything that ran, whatever rings dropped
 *	apis	 2 * GPU_MAX_CBIDS of struct gpu_api per lane: exact counts (sum over lanes)
 *	devices	 GPU_MAX_DEVICES of struct gpu_device, by device number
 *	estimates array of struct gpu_estimate: what was launched in windows, and what it stands for
 *	flops	 array of struct gpu_flops (gpu_flops.h): calls of mathematical libraries, by stack
 *	lanes	 array of struct gpu_lane: rings of records; the data of each ring is elsewhere
 *	pc_rows	 array of struct gpu_pc_row (records.h): where inside kernels warps were sampled
 *
 * An id is valid once the record or table entry that names it is visible (release/acquire). The
 * recorder trusts nothing here: it checks every offset, size and id against what it mapped.
 *
 * Rings (records: gpu/agent/base/records.h). A record starts with struct gpu_record and its size
 * is a multiple of 8 bytes. `head` and `tail` count bytes and never wrap; the place is modulo
 * `size`. The producer reserves by advancing `head`, fills the record, and stores its first 8
 * bytes last (release): a zero `type` below `head` is an unfinished record, and the consumer stops
 * there. A record never wraps; GPU_RECORD_PAD fills the end. The consumer zeroes what it consumed
 * and then stores `tail` (release). A full ring drops the record and counts it in `dropped`;
 * folds, apis and ranges stay exact.
 *
 * Times are CLOCK_MONOTONIC nanoseconds of the target's time namespace, GPU times too. Activity
 * with 0 as start or end, or that starts before its call or ends after now, is counted in
 * GPU_COUNT_UNTIMED and never becomes a record.
 *
 * Append-only: a number never gets a second meaning, structs grow at the end, sizes are in the
 * header, and an unknown record type is skipped by its size.
 */
#ifndef SPROF_GPU_AGENT_REGION_H
#define SPROF_GPU_AGENT_REGION_H

#include <stdint.h>

#include "core/portable/frames.h"
#include "core/portable/gpu_flops.h"

#define GPU_REGION_MAGIC 0x0055504746525053ull /* "SPRFGPU\0" */
#define GPU_REGION_VERSION 8u

#define GPU_MAX_DEVICES 64u
#define GPU_MAX_FAILURES 32u
#define GPU_MAX_CBIDS 1024u /* per domain; higher ones are counted in entry 0 */
#define GPU_MAX_COUNTERS 64u
#define GPU_MAX_RECORD 256u	  /* bytes */
#define GPU_MAX_STACK 1024u	  /* frames */
#define GPU_MAX_STRING (1u << 16) /* bytes; longer ones are cut */

/* The environment of a launched target, and the name under which a running one listens. */
#define GPU_ENV_SOCKET "SPROF_GPU_SOCKET"     /* connect there: "@name" (abstract) or a path */
#define GPU_ENV_CUPTI "SPROF_CUPTI"	      /* the libcupti to load if none is mapped */
#define GPU_ENV_CHAIN_CUDA "SPROF_CHAIN_CUDA" /* what CUDA_INJECTION64_PATH was before */
#define GPU_ENV_CHAIN_NVTX "SPROF_CHAIN_NVTX" /* what NVTX_INJECTION64_PATH was before */
#define GPU_SOCKET_PREFIX "sprof-gpu-"	      /* else listen at the abstract "sprof-gpu-PID" */

/* The first message of the agent, with the memfd. */
struct gpu_hello {
	uint64_t magic; /* GPU_REGION_MAGIC */
	uint32_t version;
	uint32_t pid; /* as the target sees it; SO_PEERCRED has the recorder's view */
	uint64_t region_bytes;
	int32_t memfd; /* its number in the target: for a recorder of another user */
	uint32_t unused;
};
_Static_assert(sizeof(struct gpu_hello) == 32, "on the wire");

/* What the recorder wants: gpu_region.control. */
enum gpu_control {
	GPU_CONTROL_DORMANT = 0, /* collect nothing, at no cost */
	GPU_CONTROL_ACTIVE = 1,
	GPU_CONTROL_DETACH = 2, /* release everything, go dormant, close the socket */
};

/* Where the agent is: gpu_region.state. */
enum gpu_state {
	GPU_STATE_DORMANT = 0,
	GPU_STATE_NO_CUDA = 1, /* active, but CUDA is not in use (yet): NVTX only */
	GPU_STATE_ACTIVE = 2,
	GPU_STATE_WAITING = 3,	/* another subscriber holds CUPTI; tried again every 5 s */
	GPU_STATE_FAILED = 4,	/* CUPTI cannot be used, see the failures; NVTX goes on */
	GPU_STATE_DETACHED = 5, /* the last records are in the rings; nothing more is written */
	GPU_STATE_EXITED = 6,	/* the target is exiting; everything was flushed */
};

enum gpu_want {
	GPU_WANT_KERNELS = 1u << 0,
	GPU_WANT_MEMCPY = 1u << 1,
	GPU_WANT_MEMSET = 1u << 2,
	GPU_WANT_SYNC = 1u << 3,
	GPU_WANT_OVERHEAD = 1u << 4,
	GPU_WANT_GRAPH_TRACE = 1u << 5, /* one record per graph launch; excludes node records */
	GPU_WANT_MEMORY = 1u << 6,
	GPU_WANT_NVTX = 1u << 7,
	GPU_WANT_STACKS = 1u << 8,
	GPU_WANT_RECORDS = 1u << 9, /* else only folds, apis and ranges, nothing in rings */
	/*
	 * Count and time cuda* calls as well as cu* calls; a cu* call that a cuda* call makes is
	 * counted as the latter only.
	 */
	GPU_WANT_API_RUNTIME = 1u << 10,
	GPU_WANT_API_ALL = 1u << 11,	/* every call of the domain, not only the classes */
	GPU_WANT_LAUNCHES = 1u << 12,	/* calls that launch, even if kernels are not wanted */
	GPU_WANT_FLOPS = 1u << 13,	/* operations of calls of cuBLAS and cuDNN */
	GPU_WANT_PC_SAMPLES = 1u << 14, /* program counters of warps, inside kernels */
	/* the same, one kernel at a time, so that samples have the stack of the launch */
	GPU_WANT_PC_STACKS = 1u << 15,
};
/* What only CUPTI knows; with none of it, CUPTI is left alone. */
#define GPU_WANT_OF_CUPTI                                                                          \
	(GPU_WANT_KERNELS | GPU_WANT_MEMCPY | GPU_WANT_MEMSET | GPU_WANT_SYNC |                    \
	 GPU_WANT_OVERHEAD | GPU_WANT_GRAPH_TRACE | GPU_WANT_MEMORY | GPU_WANT_API_RUNTIME |       \
	 GPU_WANT_API_ALL | GPU_WANT_LAUNCHES | GPU_WANT_PC_SAMPLES)
#define GPU_WANT_DEFAULT                                                                           \
	(GPU_WANT_KERNELS | GPU_WANT_MEMCPY | GPU_WANT_MEMSET | GPU_WANT_SYNC |                    \
	 GPU_WANT_OVERHEAD | GPU_WANT_MEMORY | GPU_WANT_NVTX | GPU_WANT_STACKS |                   \
	 GPU_WANT_RECORDS | GPU_WANT_LAUNCHES | GPU_WANT_FLOPS)

/* Classes of API calls. */
enum gpu_api_class {
	GPU_API_OTHER = 0,
	GPU_API_LAUNCH = 1, /* a kernel */
	GPU_API_GRAPH_LAUNCH = 2,
	GPU_API_MEMCPY = 3,
	GPU_API_MEMSET = 4,
	GPU_API_SYNC = 5,
	GPU_API_ALLOC = 6,
	GPU_API_FREE = 7,
	GPU_API_HOST_FUNC = 8,
	GPU_API_PROFILER_START = 9, /* cuProfilerStart: capture ranges */
	GPU_API_PROFILER_STOP = 10,
	GPU_API_CAPTURE_BEGIN = 11, /* of a stream, into a graph */
	GPU_API_CAPTURE_END = 12,
	/* a launch, copy or set that made a node, or by a thread that captures: it runs nothing */
	GPU_API_CAPTURED = 13,
};
#define GPU_NR_API_CLASSES 14

/*
 * What is collected while GPU_CONTROL_ACTIVE: calls made and ranges begun while a capture window is
 * open, and the work of these calls whenever it runs. The windows are in gpu_region.windows.
 */
enum gpu_capture {
	GPU_CAPTURE_ALL = 0,
	GPU_CAPTURE_PROFILER_API = 1, /* from cuProfilerStart to cuProfilerStop */
	GPU_CAPTURE_RANGE = 2,	      /* while any thread is in the NVTX range capture_name */
};
#define GPU_MAX_WINDOWS 64u

struct gpu_config {		/* written by the recorder before GPU_CONTROL_ACTIVE */
	uint32_t want;		/* enum gpu_want */
	uint32_t stack_classes; /* 1 << enum gpu_api_class: calls that get a stack */
	uint64_t stack_min_ns;	/* calls shorter than this get no stack; 0: all get one */
	uint32_t flush_ms;	/* 0 = 200 */
	uint32_t max_frames;	/* of a stack, 0 = GPU_MAX_STACK / 4 */
	uint32_t capture;	/* enum gpu_capture */
	uint32_t capture_once;	/* 1: nothing after the first window is captured */
	/* how much of the time of launching threads the agent may take; 0: any */
	uint32_t max_overhead_ppm;
	uint32_t pc_period; /* GPU_WANT_PC_SAMPLES: log2 of cycles; 0: as CUPTI likes */
	uint64_t reserved[3];
};
_Static_assert(sizeof(struct gpu_config) == 64, "shared");

/* Indices of gpu_region.counters. They count events, except CALLBACK_NS. */
enum gpu_counter {
	GPU_COUNT_KERNELS = 0, /* activity records of each kind that was read */
	GPU_COUNT_MEMCPYS = 1,
	GPU_COUNT_MEMSETS = 2,
	GPU_COUNT_SYNCS = 3,
	GPU_COUNT_OVERHEADS = 4,
	GPU_COUNT_GRAPHS = 5,
	GPU_COUNT_MEMORY = 6,
	GPU_COUNT_POOL = 7,
	GPU_COUNT_OTHER = 8,	      /* activity records of other kinds */
	GPU_COUNT_UNTIMED = 9,	      /* no times, or times that cannot be: in no sum */
	GPU_COUNT_CUPTI_DROPPED = 10, /* cuptiActivityGetNumDroppedRecords */
	GPU_COUNT_RING_DROPPED = 11,  /* unused: sum the lanes' `dropped` */
	GPU_COUNT_NO_BUFFER = 12,     /* CUPTI was given the discard buffer */
	GPU_COUNT_DISCARDED = 13,     /* records written into it */
	GPU_COUNT_BAD_RECORD = 14,    /* cuptiActivityGetNextRecord failed inside a buffer */
	GPU_COUNT_LAUNCHES = 15,      /* calls of a class that gets stacks */
	GPU_COUNT_STACK_WALKED = 16,
	GPU_COUNT_STACK_CACHED = 17,	  /* the same stack as the thread's last one */
	GPU_COUNT_STACK_SHORT = 18,	  /* call below stack_min_ns: no stack */
	GPU_COUNT_STACK_ARENA_FULL = 19,  /* no stack: the arena is full */
	GPU_COUNT_STRING_ARENA_FULL = 20, /* string 0 instead */
	/* activity whose call was not seen: made before the attach, or more than 2^19 calls ago */
	GPU_COUNT_NO_LAUNCH = 21,
	GPU_COUNT_FOLD_FULL = 22,	 /* folded without its stack: the table was full */
	GPU_COUNT_RANGE_FULL = 23,	 /* range folded into its parent */
	GPU_COUNT_RANGE_UNBALANCED = 24, /* pop without push, end of an unknown range */
	GPU_COUNT_RANGE_DEEP = 25,	 /* pushed deeper than GPU_MAX_RANGE_DEPTH */
	GPU_COUNT_THREADS = 26,		 /* threads that made a call */
	GPU_COUNT_LANES_SHARED = 27,	 /* of them, in the shared lane */
	GPU_COUNT_BUFFERS = 28,		 /* CUPTI buffers completed */
	GPU_COUNT_CALLBACK_NS = 29,	 /* ns spent in callbacks, from one call in 1024, scaled */
	GPU_COUNT_NVTX_CALLS = 30,
	GPU_COUNT_NVTX_ADOPTED = 31,   /* NVTX copies adopted after they fell back to no-ops */
	GPU_COUNT_GRAPH_NODES = 32,    /* kernels, copies and sets that ran in a graph */
	GPU_COUNT_OUTSIDE = 33,	       /* activities whose call was outside the capture windows */
	GPU_COUNT_RUNNING = 34,	       /* cut off at the end: their time counts up to then */
	GPU_COUNT_NOT_BEGUN = 35,      /* still queued at the end: in no sum */
	GPU_COUNT_NODES_LEFT_OUT = 36, /* nodes of graphs whose stack found no room */
	GPU_COUNT_WINDOWS = 37,	       /* windows of collection: see enum gpu_level */
	GPU_COUNT_WINDOW_NS = 38,      /* ns in them */
	GPU_COUNT_COVERED_NS = 39,     /* ns that they stand for: since the first pause began */
	GPU_COUNT_UNCOVERED_NS = 40,   /* ns of the pause that no window has followed */
	GPU_COUNT_COST_NS = 41,	       /* ns in callbacks, buffers and switching, as measured */
	GPU_COUNT_LAUNCHING_NS = 42,   /* ns of the threads that launch, beside that cost */
	GPU_COUNT_FLOPS_FULL = 43,     /* calls of mathematical libraries counted without a stack */
	GPU_COUNT_FLOPS_READ_ONLY = 44, /* imports of such calls in read-only tables: not counted */
	/* samples of program counters, as CUPTI counts them: all of the next three included */
	GPU_COUNT_PC_SAMPLES = 45,
	GPU_COUNT_PC_DROPPED = 46, /* by the hardware */
	GPU_COUNT_PC_FOREIGN = 47, /* in kernels that are not the program's */
	GPU_COUNT_PC_NO_ROOM = 48, /* whose row found no room */
	GPU_COUNT_PC_FULL = 49,	   /* times that the hardware's buffer was full: an unknown loss */
	GPU_COUNT_PC_CONTEXTS = 50,
	GPU_COUNT_PC_CUBINS_LEFT_OUT = 51, /* code that found no room: no source lines of it */
};
#define GPU_MAX_RANGE_DEPTH 128u

/* Each is one line on the target's stderr and one gpu_failure. On disk too: append-only. */
enum gpu_failure_code {
	GPU_FAIL_NO_DRIVER = 1,	    /* no driver, or no device: CPU only */
	GPU_FAIL_FOREIGN = 2,	    /* errors 39, 14: another tool holds CUPTI; we wait */
	GPU_FAIL_FOREIGN_GONE = 3,  /* that tool is gone: collecting from here on */
	GPU_FAIL_PRIVILEGES = 4,    /* error 35 */
	GPU_FAIL_NO_CUPTI = 5,	    /* no libcupti found */
	GPU_FAIL_OLD_CUPTI = 6,	    /* a symbol is missing, or it does not fit the driver */
	GPU_FAIL_KIND = 7,	    /* one activity kind could not be enabled */
	GPU_FAIL_CLOCK = 8,	    /* unused: a timestamp callback was refused */
	GPU_FAIL_UNTIMED = 9,	    /* records without times: device buffers exhausted */
	GPU_FAIL_RESIDENT = 10,	    /* detached; CUPTI stays loaded, disabled */
	GPU_FAIL_FORKED = 11,	    /* on the child's stderr only */
	GPU_FAIL_DROPPED = 12,	    /* CUPTI dropped records */
	GPU_FAIL_MEMORY = 13,	    /* mmap or memfd failed */
	GPU_FAIL_CUPTI = 14,	    /* any other error of a CUPTI function */
	GPU_FAIL_SECOND_CUPTI = 15, /* two copies of libcupti are mapped */
	GPU_FAIL_THREAD = 16,	    /* no worker thread */
	GPU_FAIL_NVTX_TAKEN = 17,   /* another tool uses NVTX: no ranges */
	/* another tool replaced CUPTI's buffers without subscribing: no GPU data from here on */
	GPU_FAIL_BUFFERS_TAKEN = 18,
	/* records start before their call or end in the future: they are on some other clock */
	GPU_FAIL_WRONG_CLOCK = 19,
	GPU_FAIL_WHOLE_GRAPHS = 20, /* from here on graphs are recorded without their kernels */
	GPU_FAIL_KERNELS_STAY = 21, /* detached; CUPTI still records kernels */
	GPU_FAIL_FLOPS = 22,	    /* several copies of a mathematical library: not counted */
	GPU_FAIL_PC_SAMPLING = 23,  /* no samples of program counters, of a context or at all */
	GPU_FAIL_PC_LINES = 24,	    /* no source lines of some or all of them */
	GPU_FAIL_PC_FULL = 25,	    /* samples were lost: the hardware's buffer was full */
	GPU_FAIL_GRAPH_IDS = 26,    /* which launch a graph's kernels belong to is not known */
};

struct gpu_failure {
	uint32_t code;	      /* enum gpu_failure_code; written last (release) */
	uint32_t cupti_error; /* 0: no CUPTI function failed */
	uint64_t time_ns;
	uint64_t count; /* times seen */
	char text[232]; /* one line, NUL-terminated, no newline */
};
_Static_assert(sizeof(struct gpu_failure) == 256, "shared");

struct gpu_area {
	uint64_t offset;     /* from the start of the region */
	uint64_t size;	     /* bytes */
	uint64_t used;	     /* arenas: bytes taken; arrays: entries used; both from the start */
	uint32_t entry_size; /* arrays: bytes between entries; arenas: 0 */
	uint32_t reserved;
};
_Static_assert(sizeof(struct gpu_area) == 32, "shared");

struct gpu_window {
	uint64_t start_ns;
	uint64_t end_ns; /* 0 = open */
};

/* The place of window i: the first window stays in 0, the others share a ring. */
static inline uint32_t gpu_window_place(uint32_t i)
{
	return i < GPU_MAX_WINDOWS ? i : 1 + i % (GPU_MAX_WINDOWS - 1);
}

/*
 * How much is collected, with config.max_overhead_ppm: each level costs less than the one before.
 */
enum gpu_level {
	GPU_LEVEL_ALL = 0,	/* what config wants */
	GPU_LEVEL_GRAPHS = 1,	/* the same, but CUDA graphs whole */
	GPU_LEVEL_WINDOWS = 2,	/* the same, but only in windows, and in between nothing */
	GPU_LEVEL_LAUNCHES = 3, /* only the calls that launch are counted */
	GPU_LEVEL_NOTHING = 4,
};
#define GPU_MAX_LEVELS 16u

struct gpu_level_change {
	uint64_t time_ns;
	uint32_t level;	   /* enum gpu_level, from then on */
	uint32_t cost_ppm; /* measured since the change before */
};
_Static_assert(sizeof(struct gpu_level_change) == 16, "shared");

/*
 * Work of one kind and name that was launched in windows, and what it stands for. The squares are
 * of the estimates of single windows: they give the sampling error.
 */
struct gpu_estimate {
	uint8_t kind; /* enum gpu_fold_kind; 0 = free, or, in entry 0, what found no room */
	uint8_t subkind;
	uint16_t device;
	uint32_t name;		  /* string; kernels */
	uint64_t count, total_ns; /* as they were seen */
	double estimated_count, estimated_ns;
	double count_squares, ns_squares;
	uint32_t window; /* the last; its sums are not in the estimates yet: */
	uint32_t reserved;
	uint64_t window_count, window_ns;
};
_Static_assert(sizeof(struct gpu_estimate) == 80, "shared");

struct gpu_region {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size; /* sizeof(struct gpu_region) of the agent */
	uint64_t region_bytes;
	uint32_t pid;
	uint32_t reserved0;
	uint64_t start_ns;   /* when the region was created */
	uint32_t control;    /* enum gpu_control, the recorder's */
	uint32_t state;	     /* enum gpu_state, the agent's */
	uint64_t active_ns;  /* when collection started first, 0 = not yet */
	uint64_t stopped_ns; /* when it ended last, 0 = still on */
	struct gpu_config config;
	uint32_t cupti_version; /* cuptiGetVersion, 0 = not loaded */
	uint32_t cupti_path;	/* string */
	uint32_t nr_failures;
	uint32_t nr_lanes;
	struct gpu_area strings, stacks, ranges, folds, apis, devices, lanes;
	uint64_t counters[GPU_MAX_COUNTERS];
	struct gpu_failure failures[GPU_MAX_FAILURES];
	char capture_name[256]; /* NAME or NAME@DOMAIN; written by the recorder with config */
	uint32_t nr_windows;	/* ever opened; i is windows[gpu_window_place(i)] */
	uint32_t reserved1;
	struct gpu_window windows[GPU_MAX_WINDOWS];
	uint32_t nr_levels; /* changes ever made; those that find no room are not in levels[] */
	uint32_t reserved2;
	struct gpu_level_change levels[GPU_MAX_LEVELS];
	struct gpu_area estimates;
	struct gpu_area flops;
	struct gpu_area pc_rows;
};
_Static_assert(sizeof(struct gpu_region) == 8 * 8 + 64 + 16 + 7 * 32 + 512 + 256 * 32 + 256 + 8 +
						    16 * 64 + 8 + 16 * 16 + 3 * 32,
	       "shared, without holes");

struct gpu_string {
	uint32_t length; /* without the NUL that follows the bytes */
	uint32_t hash;
	char bytes[];
};
_Static_assert(sizeof(struct gpu_string) == 8, "shared");

/*
 * Addresses of the target, leaf first. The first is where the agent's callback returns to, in
 * libcupti or libcuda. All are return addresses: subtract 1 to look one up.
 */
/*
 * In the place of a frame, in stacks of work in CUDA graphs: the frames nearer to the leaf made the
 * node, those nearer to the root launched the graph. No code lies at that address.
 */
#define GPU_FRAME_CAPTURE 1ull

struct gpu_stack {
	uint32_t hash;
	uint16_t nr;
	uint8_t end;   /* enum walk_end */
	uint8_t flags; /* 0 */
	uint64_t frames[];
};
_Static_assert(sizeof(struct gpu_stack) == 8, "shared");

/* A distinct path of push/pop ranges, with exact sums over all threads. */
struct gpu_range_node {
	uint32_t parent; /* range id, 0 = outermost */
	uint32_t name;	 /* string */
	uint32_t domain; /* string: name of the NVTX domain, "" = the default one */
	uint32_t category;
	uint32_t depth; /* 1 = outermost */
	uint32_t color; /* ARGB, 0 = none */
	uint64_t count; /* ended */
	uint64_t total_ns;
	uint64_t min_ns, max_ns;
	uint64_t reserved;
};
_Static_assert(sizeof(struct gpu_range_node) == 64, "shared");

enum gpu_fold_kind {
	GPU_FOLD_KERNEL = 1,
	GPU_FOLD_MEMCPY = 2,
	GPU_FOLD_MEMSET = 3,
	GPU_FOLD_GRAPH = 4, /* GRAPH_TRACE */
	GPU_FOLD_SYNC = 5,
	GPU_FOLD_ALLOC = 6, /* bytes allocated */
	GPU_FOLD_FREE = 7,
	GPU_FOLD_OVERHEAD = 8,
};

/*
 * Sums of activities with the same key. Entries 0 to 15 are the overflow of each kind, without a
 * key.
 */
struct gpu_fold {
	uint8_t kind;	 /* enum gpu_fold_kind; 0 = free; written last (release) */
	uint8_t subkind; /* copy kind, memory kind, sync type, overhead kind */
	uint16_t device;
	uint32_t stack;
	uint32_t name;	/* string; kernels */
	uint32_t range; /* of the launch */
	uint64_t count;
	uint64_t total_ns;
	uint64_t min_ns, max_ns;
	uint64_t bytes;
	uint32_t registers, local_bytes; /* kernels: of the last launch, per thread */
	uint32_t shared_static, shared_dynamic;
	uint32_t grid[3], block[3];
	uint64_t min_blocks, max_blocks; /* kernels: of all launches, the product of the grid */
	uint32_t flops; /* kernels: entry of the call that launched them; 0: of no such call */
	uint32_t reserved;
};
_Static_assert(sizeof(struct gpu_fold) == 120, "shared");

enum gpu_api_domain {
	GPU_API_DRIVER = 0,
	GPU_API_RUNTIME = 1,
};

struct gpu_api { /* apis: index (lane * 2 + enum gpu_api_domain) * GPU_MAX_CBIDS + cbid */
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns;
	uint32_t name;	    /* string: cuLaunchKernel ... */
	uint32_t api_class; /* enum gpu_api_class */
};
_Static_assert(sizeof(struct gpu_api) == 32, "shared");

struct gpu_device {
	uint32_t known; /* 1 once the rest is filled (release) */
	uint32_t name;	/* string */
	uint8_t uuid[16];
	uint64_t memory_bytes;
	uint64_t memory_bytes_per_s;
	uint32_t cc_major, cc_minor;
	uint32_t nr_sms;
	uint32_t warp_threads;
	uint32_t max_warps_per_sm;
	uint32_t max_blocks_per_sm;
	uint32_t max_registers_per_sm;
	uint32_t max_shared_per_sm; /* bytes */
	uint32_t core_clock_khz;
	uint32_t reserved;
	uint64_t allocated_bytes, peak_bytes; /* of the driver allocations seen */
};
_Static_assert(sizeof(struct gpu_device) == 96, "shared");

enum gpu_lane_flags {
	GPU_LANE_ACTIVITY =
		1,	     /* what the GPU ran: written by threads that complete CUPTI buffers */
	GPU_LANE_SHARED = 2, /* by all threads beyond the number of lanes */
};

struct gpu_lane {
	uint64_t offset;  /* of the ring's data, from the start of the region */
	uint64_t size;	  /* bytes, a power of two */
	uint32_t tid;	  /* the owner, 0 = free or shared */
	uint32_t flags;	  /* enum gpu_lane_flags */
	uint64_t dropped; /* records */
	uint64_t reserved0[4];
	uint64_t head; /* bytes produced */
	uint64_t reserved1[7];
	uint64_t tail; /* bytes consumed; written by the recorder */
	uint64_t reserved2[7];
};
_Static_assert(sizeof(struct gpu_lane) == 192, "shared");

#endif
