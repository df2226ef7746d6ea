/*
 * The kinds of GPU work that a recording may collect or leave out: their names, in options and
 * outputs, and which of them a profile lacks. Also facts (facts.h): the operations that calls of
 * mathematical libraries asked for, by the shapes in their arguments, and samples inside kernels.
 */
#ifndef SPROF_GPU_KINDS_H
#define SPROF_GPU_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/gpu_flops.h"

struct buffer;
struct profile;

/* Bits. On disk too, and those of enum gpu_want (gpu/agent/base/region.h): append only. */
enum gpu_kind {
	GPU_KIND_KERNELS = 1u << 0,
	GPU_KIND_COPIES = 1u << 1,
	GPU_KIND_FILLS = 1u << 2,
	GPU_KIND_WAITS = 1u << 3,     /* waits of the host for the GPU */
	GPU_KIND_OVERHEAD = 1u << 4,  /* work of CUPTI itself */
	GPU_KIND_GRAPHS = 1u << 5,    /* CUDA graphs, whole: without their kernels */
	GPU_KIND_MEMORY = 1u << 6,    /* allocations and pools */
	GPU_KIND_RANGES = 1u << 7,    /* ranges of NVTX */
	GPU_KIND_LAUNCHES = 1u << 12, /* calls that launch, whether or not their work is recorded */
	GPU_KIND_FLOPS = 1u << 13     /* operations of calls of cuBLAS and cuDNN */
};
#define GPU_KINDS_ALL                                                                              \
	(GPU_KIND_KERNELS | GPU_KIND_COPIES | GPU_KIND_FILLS | GPU_KIND_WAITS |                    \
	 GPU_KIND_OVERHEAD | GPU_KIND_GRAPHS | GPU_KIND_MEMORY | GPU_KIND_RANGES |                 \
	 GPU_KIND_LAUNCHES | GPU_KIND_FLOPS)
#define GPU_KINDS_DEFAULT (GPU_KINDS_ALL & ~GPU_KIND_GRAPHS)

/*
 * Parses names separated by commas. A "-" before a name removes it; a list that begins so begins
 * with the default. Returns false for any other text, or if no kind is left.
 */
bool gpu_kinds_parse(const char *text, uint64_t *ret_kinds);

/* Appends the names of the kinds, "kernels, copies". */
void gpu_kinds_add(struct buffer *b, uint64_t kinds);
/* Appends them as a JSON array. */
void gpu_kinds_add_json(struct buffer *b, uint64_t kinds);

/*
 * The kinds that were collected of no process; 0 if the recording does not say, or has no GPU data.
 */
uint64_t gpu_kinds_not_collected(const struct profile *p);

/*
 * Calls of one function of a mathematical library from one stack. An addition and a multiplication
 * are two operations. Key: pid, id.
 */
struct fact_gpu_flops {
	uint64_t pid;
	uint64_t id;	 /* 0: calls for which there was no room */
	uint64_t stack;	 /* the stack of the call, with NVTX ranges nearest to the leaf */
	uint64_t call;	 /* string: "cublasSgemm_v2" */
	uint64_t type;	 /* enum gpu_flops_type */
	uint64_t source; /* enum gpu_flops_source */
	/* calls that ran and have a known shape, with replays of captured ones */
	uint64_t calls;
	uint64_t low, high; /* their operations: high * 2^64 + low */
	uint64_t saturated; /* calls with more than 2^64 - 1, counted as that */
	uint64_t unknown;   /* calls that ran and have no known shape */
	uint64_t failed;    /* calls that returned an error */
	uint64_t captured;  /* calls that became nodes of a CUDA graph, and ran nothing */
};

/* The kernels that these calls launched. Key: the fields up to name. */
struct fact_gpu_flops_work {
	uint64_t pid, id; /* of a FACT_GPU_FLOPS */
	uint64_t device;
	uint64_t name; /* string, as in FACT_GPU_WORK */
	uint64_t launches, total_ns;
};

/* Counts calls of mathematical libraries without a row of their own: they are in that with id 0. */
#define COUNTER_FLOPS_FULL "calls of libraries without room"

/* Counts places from which calls of mathematical libraries are not seen. */
#define COUNTER_FLOPS_READ_ONLY "read-only imports of libraries"

/* Whether the source line of an instruction is known. On disk too: explicit values, append only. */
enum gpu_line_state {
	GPU_LINE_AWAITED = 0, /* the recording ended before it was looked up */
	GPU_LINE_KNOWN = 1,
	GPU_LINE_NONE = 2,    /* the code was built without lines */
	GPU_LINE_NO_CODE = 3, /* the code was not seen when it was loaded */
	NR_GPU_LINE_STATES
};

/*
 * Samples of warps at one instruction of a kernel, stalled for one reason. Key: the fields up to
 * stall. Each sample counts in one row.
 */
struct fact_gpu_pc {
	uint64_t pid;
	uint64_t kernel; /* string */
	uint64_t cubin;	 /* a checksum of the code */
	uint64_t pc;	 /* bytes from the start of the kernel */
	uint64_t stall;	 /* string: "long_scoreboard"; "selected": it went on */
	uint64_t file;	 /* string: its path; only with GPU_LINE_KNOWN */
	uint64_t line;
	uint64_t line_state; /* enum gpu_line_state */
	uint64_t samples;
	uint64_t idle_samples; /* those with no other warp to issue either */
};

/* Counters of samples inside kernels. */
#define COUNTER_PC_SAMPLES "samples inside kernels"
#define COUNTER_PC_DROPPED "samples inside kernels dropped by the hardware"
#define COUNTER_PC_FOREIGN "samples inside kernels of others"
#define COUNTER_PC_NO_ROOM "samples inside kernels without room"
#define COUNTER_PC_FULL "times that the buffer of samples was full"

#endif
