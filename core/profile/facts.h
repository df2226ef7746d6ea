/*
 * Facts: what a recording knows that is no sample. They are rows of tables, one table per kind; every
 * field is a uint64_t, so that a row is written, read and stored by one piece of code whatever its kind.
 * core/profile/facts.c lists for each kind which fields are ids.
 *
 * A kind may have a key, the first fields of a row: a later row replaces an earlier one of the same
 * key, which is how sums grow while a recording is made. Rows of kinds without a key all stay.
 *
 * Fields are only ever added, at the end of a row, and kinds at the end of the list: what an older
 * recording lacks reads as 0. Times are CLOCK_MONOTONIC ns of the recording host, sizes bytes.
 */
#ifndef SPROF_FACTS_H
#define SPROF_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* On disk too: explicit values, append only. */
enum fact_kind {
	FACT_GPU_DEVICE = 1,
	FACT_GPU_WORK = 2,
	FACT_GPU_API = 3,
	FACT_RANGE = 4,
	FACT_RANGE_RUN = 5,
	FACT_GPU_COUNTER = 6,
	FACT_GPU_NOTE = 7,
	FACT_GPU_MEMORY = 8,
	FACT_GPU_ACTIVITY = 9,
	FACT_DERIVED_RULES = 10,
	FACT_CALLS = 11,
	FACT_GC = 12,
	FACT_IMPORT = 13,
	NR_FACT_KINDS
};

/* A GPU as one process sees it. Key: pid, device. */
struct fact_gpu_device {
	uint64_t pid, device; /* device: the number that CUDA has for it in that process */
	uint64_t name, uuid;  /* strings */
	uint64_t memory_bytes, memory_bytes_per_s;
	uint64_t cc_major, cc_minor; /* compute capability */
	uint64_t nr_sms, warp_threads, max_warps_per_sm, max_blocks_per_sm;
	uint64_t max_registers_per_sm, max_shared_per_sm;
	uint64_t clock_khz;
	uint64_t peak_bytes;	   /* of driver allocations seen */
	uint64_t start_ns, end_ns; /* when it was watched; end - start = busy_ns + idle_ns */
	uint64_t busy_ns, idle_ns; /* time that anything, or nothing, ran on any stream */
	uint64_t kernel_ns;	   /* time that at least one kernel ran */
	uint64_t copy_ns;	   /* time that at least one copy or fill ran */
	uint64_t overlap_ns;	   /* time that both did */
	uint64_t exposed_ns;	   /* time that communication kernels ran and no other kernel did */
};

enum gpu_work_kind {
	GPU_WORK_KERNEL = 1,
	GPU_WORK_MEMCPY = 2, /* subkind: CUpti_ActivityMemcpyKind */
	GPU_WORK_MEMSET = 3,
	GPU_WORK_GRAPH = 4, /* a whole graph launch, where its nodes were not recorded */
	GPU_WORK_SYNC = 5,  /* subkind: CUpti_ActivitySynchronizationType; the host waited */
	GPU_WORK_ALLOC = 6, /* no time, only bytes */
	GPU_WORK_FREE = 7,
	GPU_WORK_OVERHEAD = 8, /* of CUPTI; subkind: CUpti_ActivityOverheadKind */
	NR_GPU_WORK_KINDS
};

/* Sums over all work of one kind and name. Key: up to and with name. */
struct fact_gpu_work {
	uint64_t pid, device;
	uint64_t kind, subkind; /* enum gpu_work_kind */
	uint64_t name; /* string: of a kernel, as a person reads it; "[copy host to device]" */
	uint64_t calls, total_ns, min_ns, max_ns;
	uint64_t bytes;
	/* Of the last kernel. */
	uint64_t registers, local_bytes; /* per thread */
	uint64_t shared_static, shared_dynamic;
	uint64_t grid[3], block[3];
};

/* Calls of one function of the CUDA API. Key: up to and with name. */
struct fact_gpu_api {
	uint64_t pid;
	uint64_t runtime; /* 1: cuda...(), which call cu...() in their turn */
	uint64_t name;	  /* string */
	uint64_t calls, total_ns, max_ns;
};

/* A distinct path of NVTX ranges. Key: pid, id. */
struct fact_range {
	uint64_t pid;
	uint64_t id;	       /* 1 .. */
	uint64_t parent;       /* id, or 0 */
	uint64_t name, domain; /* strings; "" is the default domain */
	uint64_t depth;	       /* 1 = outermost */
	uint64_t started;      /* 1: start/end, which may cross threads; 0: push/pop */
	uint64_t calls, total_ns, min_ns, max_ns; /* every one, kept as FACT_RANGE_RUN or not */
	/* Of what was launched in it and in no range inside it. */
	uint64_t gpu_ns, launches;
};

/* One time that a range ran, with the GPU work launched inside it. No key; in order of their end. */
struct fact_range_run {
	uint64_t pid;
	uint64_t range;	 /* id of a FACT_RANGE */
	uint64_t thread; /* thread, or PROFILE_NONE */
	uint64_t start_ns, duration_ns;
	uint64_t gpu_ns;	  /* sum over the work launched inside */
	uint64_t launches;	  /* pieces of it */
	uint64_t gpu_start_ns;	  /* projected: from the start of the first piece */
	uint64_t gpu_duration_ns; /* to the end of the last; 0 where there is none */
	uint64_t net_bytes;	  /* int64_t: device memory allocated less freed inside */
	uint64_t peak_bytes;	  /* highest above what was allocated when it started */
};

/* How the collection went. Key: pid, name. */
struct fact_gpu_counter {
	uint64_t pid;
	uint64_t name; /* string: see gpu/counters.c */
	uint64_t value;
};

/* The counter of those that FACT_GPU_ACTIVITY has no row of. */
#define COUNTER_ACTIVITIES_LEFT_OUT "activities left out of the timeline"

/* The counter of those that FACT_RANGE_RUN has no row of. */
#define COUNTER_RUNS_LEFT_OUT "runs of ranges not kept"

/* The counter of a process that was not to be recorded; 1. */
#define COUNTER_PROCESS_LEFT_OUT "process left out by --gpu-processes"

/* What did not work, in a line for people. Key: pid, code, text. */
struct fact_gpu_note {
	uint64_t pid;
	uint64_t code; /* enum gpu_failure_code, gpu/agent/base/region.h */
	uint64_t text; /* string */
	uint64_t time_ns, count;
};

/*
 * Device memory that the process has of the driver, from this moment on, as far as its allocations were
 * seen. No key; in order of time for each device. Of many changes in a short time only the highest and the
 * last are kept.
 */
struct fact_gpu_memory {
	uint64_t pid, device;
	uint64_t time_ns;
	uint64_t used_bytes;
};

/*
 * One thing that a GPU ran, or that the host waited for, and the call that asked for it. No key; in the order
 * in which they were reported. Only so many are kept: the sums of FACT_GPU_WORK have all of them.
 */
struct fact_gpu_activity {
	uint64_t pid;
	uint64_t thread; /* that made the call, or PROFILE_NONE: the call is not known */
	uint64_t device, context, stream; /* of a GPU_WORK_SYNC the device is not known, and 0 */
	uint64_t kind, subkind;		  /* enum gpu_work_kind, up to GPU_WORK_SYNC */
	uint64_t name;			  /* string, as of FACT_GPU_WORK */
	uint64_t start_ns, duration_ns;
	uint64_t correlation;	/* the same for all that one call started */
	uint64_t call;		/* string: cuLaunchKernel ... */
	uint64_t call_ahead_ns; /* int64_t: start_ns less the start of the call */
	uint64_t call_duration_ns;
	uint64_t bytes; /* copied or set */
	uint64_t graph; /* id of the executable graph it ran in; 0 = in none */
};

/*
 * A module of which stacks hold frames, and so many functions without unwind rules of its own: theirs
 * were read from machine code. Key: path.
 */
struct fact_derived_rules {
	uint64_t path; /* string */
	uint64_t functions;
};

/*
 * How often a function was called, in all processes (sprof record --calls). Key: up to and with line. A native function
 * has a module and no file, and a number that tells it from others of its name; a Python function has a file, and the
 * line that it begins in.
 */
struct fact_calls {
	uint64_t kind; /* enum function_kind: FUNCTION_NATIVE or FUNCTION_PYTHON */
	uint64_t name; /* string: as a person reads it; of Python without the class it is in */
	uint64_t module, file; /* strings */
	uint64_t line;
	uint64_t calls;
	uint64_t
		late_ns; /* 0, or how long after the beginning the counting began: there may be more */
};

/* Runs of CPython's garbage collector (sprof record --calls gc). Key: pid, generation. */
struct fact_gc {
	uint64_t pid;
	uint64_t generation; /* 0, 1, 2; 3: any other */
	uint64_t collections, total_ns, max_ns;
	uint64_t freed;	  /* objects that were found unreachable */
	uint64_t late_ns; /* as in struct fact_calls */
};

/*
 * A Python module that was looked for and loaded (sprof record --calls imports): not one that was there already. No key; in
 * the order of their ends, so that what a module imports comes before it.
 */
struct fact_import {
	uint64_t pid;
	uint64_t id, parent; /* in that process, 1 ..; 0: nothing was being imported */
	uint64_t name;	     /* string */
	uint64_t found;	     /* 0: the import failed */
	uint64_t start_ns, total_ns;
	uint64_t self_ns; /* without what it imported */
};

/* What a field of a row is. */
enum fact_field {
	FIELD_NUMBER = 'n',
	FIELD_SIGNED = 'i',
	FIELD_STRING = 's',
	FIELD_THREAD = 't',
};

struct fact_info {
	const char *fields; /* a letter each; NULL: no such kind */
	uint32_t nr_fields;
	uint32_t nr_key;
};

/* NULL where there is no such kind. */
const struct fact_info *fact_info(uint64_t kind);

struct facts;

/* Takes a row of that kind (struct fact_...), with ids of the profile. False: it replaces another. */
bool facts_put(struct profile *p, enum fact_kind kind, const void *row);
/* All rows of a kind, an array of struct fact_...; good until the next is put. */
const void *facts_rows(const struct profile *p, enum fact_kind kind, size_t *ret_nr);
/* What the counter of that name adds up to over all processes; 0 where there is none. */
uint64_t facts_count(const struct profile *p, const char *counter);
void facts_free(struct facts *facts);

#endif
