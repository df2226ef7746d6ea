/*
 * Facts: what a recording knows besides samples. They are rows of tables, one table per kind. Every
 * field is a uint64_t, so the same code writes, reads and stores rows of all kinds; facts.c lists
 * for each kind which fields are ids.
 *
 * A kind may have a key, the first fields of a row: a later row replaces an earlier one with the
 * same key, which is how sums grow while a recording is made. Rows of kinds without a key are all
 * kept.
 *
 * Fields are only ever added at the end of a row, and kinds at the end of the list: a field that an
 * older recording lacks reads as 0. Times are CLOCK_MONOTONIC ns of the recording host; sizes are
 * bytes.
 */
#ifndef SPROF_FACTS_H
#define SPROF_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/call_times.h"
#include "core/profile/recorder_facts.h"

struct facts;
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
	FACT_LIMIT = 14,
	FACT_PROCESS = 15,
	FACT_THREAD_TIME = 16,
	FACT_RANK = 17,
	FACT_COLLECTIVE = 18,
	FACT_LOCK_WAIT = 19,
	FACT_SYSTEM_CALL = 20,
	FACT_GPU_COLLECTED = 21,
	FACT_GPU_LEVEL = 22,
	FACT_GPU_ESTIMATE = 23,
	FACT_EVENT = 24,
	FACT_MEMORY_SAMPLED = 25,
	FACT_RESOURCE = 26,
	FACT_RATE = 27, /* this one and the next: recorder_facts.h */
	FACT_COST = 28,
	FACT_PROCESS_END = 29, /* process_end.h */
	FACT_MEMORY_HELD = 30, /* process_end.h */
	FACT_GPU_FLOPS = 31,   /* this one and the next: gpu_kinds.h */
	FACT_GPU_FLOPS_WORK = 32,
	FACT_GPU_PC = 33,	 /* gpu_kinds.h */
	FACT_TENSOR_MEMORY = 34, /* this one and the next: process_end.h */
	FACT_TENSOR_LEVEL = 35,
	FACT_MEMORY_UNHOOKED = 60, /* process_end.h */
	FACT_CALL_TIMES = 70,
	NR_FACT_KINDS
};

/* A GPU as one process sees it. Key: pid, device. */
struct fact_gpu_device {
	uint64_t pid, device; /* device: CUDA's number in that process */
	uint64_t name, uuid;  /* strings */
	uint64_t memory_bytes, memory_bytes_per_s;
	uint64_t cc_major, cc_minor; /* compute capability */
	uint64_t nr_sms, warp_threads, max_warps_per_sm, max_blocks_per_sm;
	uint64_t max_registers_per_sm, max_shared_per_sm;
	uint64_t clock_khz;
	uint64_t peak_bytes;	   /* the peak of allocations from the driver */
	uint64_t start_ns, end_ns; /* the observed time; end_ns - start_ns = busy_ns + idle_ns */
	uint64_t busy_ns, idle_ns; /* time in which something, or nothing, ran on any stream */
	uint64_t kernel_ns;	   /* time in which at least one kernel ran */
	uint64_t copy_ns;	   /* time in which at least one copy or fill ran */
	uint64_t overlap_ns;	   /* time in which both ran */
	/* time in which communication kernels ran and no other kernel did */
	uint64_t exposed_ns;
};

enum gpu_work_kind {
	GPU_WORK_KERNEL = 1,
	GPU_WORK_MEMCPY = 2, /* subkind: CUpti_ActivityMemcpyKind */
	GPU_WORK_MEMSET = 3,
	GPU_WORK_GRAPH = 4, /* a whole graph launch whose nodes were not recorded */
	GPU_WORK_SYNC = 5,  /* subkind: CUpti_ActivitySynchronizationType; the host waited */
	GPU_WORK_ALLOC = 6, /* no time, only bytes */
	GPU_WORK_FREE = 7,
	GPU_WORK_OVERHEAD = 8, /* work of CUPTI; subkind: CUpti_ActivityOverheadKind */
	NR_GPU_WORK_KINDS
};

/* Sums over all work of one kind and name. Key: the fields up to name. */
struct fact_gpu_work {
	uint64_t pid, device;
	uint64_t kind, subkind; /* enum gpu_work_kind */
	uint64_t name;		/* string: the readable name of a kernel; "[copy host to device]" */
	uint64_t calls, total_ns, min_ns, max_ns;
	uint64_t bytes;
	/* Properties of the last kernel. */
	uint64_t registers, local_bytes; /* per thread */
	uint64_t shared_static, shared_dynamic;
	uint64_t grid[3], block[3];
	uint64_t min_blocks, max_blocks; /* of all kernels: the product of the grid; 0 = unknown */
};

/* Calls of one function of the CUDA API. Key: the fields up to name. */
struct fact_gpu_api {
	uint64_t pid;
	uint64_t runtime; /* 1: a cuda...() function; its calls of cu...() are not counted */
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
	/* of all runs, also those without a FACT_RANGE_RUN */
	uint64_t calls, total_ns, min_ns, max_ns;
	/* Work launched in this range and in no range inside it. */
	uint64_t gpu_ns, launches;
};

/* One run of a range, with the GPU work launched inside it. No key; in order of their ends. */
struct fact_range_run {
	uint64_t pid;
	uint64_t range;	 /* id of a FACT_RANGE */
	uint64_t thread; /* thread, or PROFILE_NONE */
	uint64_t start_ns, duration_ns;
	uint64_t gpu_ns;       /* the sum over the work launched inside */
	uint64_t launches;     /* the number of those launches */
	uint64_t gpu_start_ns; /* the start of the first piece of that work */
	/* from there to the end of the last piece; 0: no such work */
	uint64_t gpu_duration_ns;
	uint64_t net_bytes;  /* int64_t: device memory allocated less freed inside */
	uint64_t peak_bytes; /* the peak above what was allocated when the run began */
};

/*
 * Which GPU work and ranges of a process were collected from a moment on. No key; in order of time
 * for each process. Recordings of older versions have no rows.
 */
struct fact_gpu_collected {
	uint64_t pid;
	uint64_t time_ns;
	uint64_t kinds; /* bits: enum gpu_kind, core/profile/gpu_kinds.h */
};

/* Levels of cost, each less than the one before. On disk too: explicit values, append only. */
enum gpu_cost_level {
	GPU_COST_ALL = 0,      /* everything that was asked for */
	GPU_COST_GRAPHS = 1,   /* like ALL, but CUDA graphs whole */
	GPU_COST_WINDOWS = 2,  /* like GRAPHS, but in windows with pauses */
	GPU_COST_LAUNCHES = 3, /* calls that launch, but no work of the GPU */
	GPU_COST_NOTHING = 4,
	NR_GPU_COST_LEVELS
};

/*
 * How much of a process is collected from a moment on, to keep within a limit of cost (sprof record
 * --max-overhead). No key; in order of time for each process; a process begins with GPU_COST_ALL.
 */
struct fact_gpu_level {
	uint64_t pid;
	uint64_t time_ns;
	uint64_t level;	    /* enum gpu_cost_level */
	uint64_t cost_ppm;  /* part of the time of launching threads, since the row before */
	uint64_t limit_ppm; /* the limit that was asked for */
};

/*
 * All work of one kind and name that was launched since the first pause between windows, estimated
 * from the work launched in windows. Key: the fields up to name, as in FACT_GPU_WORK, whose row
 * holds the observed work: seen_calls and seen_ns are its part in the estimate.
 */
struct fact_gpu_estimate {
	uint64_t pid, device;
	uint64_t kind, subkind;
	uint64_t name;
	uint64_t seen_calls, seen_ns;
	uint64_t calls, total_ns;
	uint64_t calls_error, total_error; /* a standard error; UINT64_MAX: too few windows */
};

/* Counters of windows. */
#define COUNTER_WINDOWS "windows"
#define COUNTER_WINDOW_NS "ns in windows"
#define COUNTER_COVERED_NS "ns that windows stand for"
#define COUNTER_UNCOVERED_NS "ns after the last window"

/* Counters of the collection itself. Key: pid, name. */
struct fact_gpu_counter {
	uint64_t pid;
	uint64_t name; /* string: see gpu/tables.c */
	uint64_t value;
};

/* Counts the activities that have no row of FACT_GPU_ACTIVITY. */
#define COUNTER_ACTIVITIES_LEFT_OUT "activities left out of the timeline"

/* Counts what the target launched before it ended by _exit() or a signal. */
#define COUNTER_WITHOUT_RECORD "launches without a record"

/* Counts the runs that have no row of FACT_RANGE_RUN. */
#define COUNTER_RUNS_LEFT_OUT "runs of ranges not kept"

/* Counts work that still ran when the recording ended; its time counts up to then. */
#define COUNTER_STILL_RUNNING "activities still running at the end"

/* Set to 1 for a process that was not to be recorded. */
#define COUNTER_PROCESS_LEFT_OUT "process left out by --gpu-processes"

/* A failure, as one line for the user. Key: pid, code, text. */
struct fact_gpu_note {
	uint64_t pid;
	uint64_t code; /* enum gpu_failure_code, gpu/agent/base/region.h */
	uint64_t text; /* string */
	uint64_t time_ns, count;
};

/*
 * Device memory that the process has from the driver from this moment on, as far as its allocations
 * were seen. No key; in order of time for each device. Of changes in a short time, only the peak
 * and the last one are kept.
 */
struct fact_gpu_memory {
	uint64_t pid, device;
	uint64_t time_ns;
	uint64_t used_bytes;
};

/*
 * One piece of work of a GPU, or one wait of the host, and the call that asked for it. No key; in
 * the order in which they were reported. Only a limited number is kept; the sums of FACT_GPU_WORK
 * cover all of them.
 */
struct fact_gpu_activity {
	uint64_t pid;
	uint64_t thread; /* thread that made the call; PROFILE_NONE where the call is not known */
	uint64_t device, context, stream; /* for GPU_WORK_SYNC the device is unknown and 0 */
	uint64_t kind, subkind;		  /* enum gpu_work_kind, up to GPU_WORK_SYNC */
	uint64_t name;			  /* string, as in FACT_GPU_WORK */
	uint64_t start_ns, duration_ns;
	uint64_t correlation;	/* equal for all work that one call started */
	uint64_t call;		/* string: cuLaunchKernel ... */
	uint64_t call_ahead_ns; /* int64_t: start_ns minus the start of the call */
	uint64_t call_duration_ns;
	uint64_t bytes; /* copied or set */
	uint64_t graph; /* id of the executable graph it ran in; 0 = none */
	/* of a kernel */
	uint64_t grid[3], block[3];
	uint64_t registers;    /* per thread */
	uint64_t shared_bytes; /* of a block, static and dynamic */
};

/*
 * A module with frames in stacks, and the number of its functions whose rules were derived from
 * machine code because they have no unwind rules of their own. Key: path.
 */
struct fact_derived_rules {
	uint64_t path; /* string */
	uint64_t functions;
};

/*
 * How often a function was called, in all processes (sprof record --calls). Key: the fields up to
 * line. A native function has a module and no file, and `line` tells functions of the same name
 * apart; a Python function has a file, and `line` is its first line.
 */
struct fact_calls {
	uint64_t kind;	       /* enum function_kind: FUNCTION_NATIVE or FUNCTION_PYTHON */
	uint64_t name;	       /* string: readable; for Python without the class */
	uint64_t module, file; /* strings */
	uint64_t line;
	uint64_t calls;
	uint64_t
		/* for how long calls from the start on were not counted; 0: all were */
		late_ns;
};

/* Runs of CPython's garbage collector (sprof record --calls gc). Key: pid, generation. */
struct fact_gc {
	uint64_t pid;
	uint64_t generation; /* 0, 1, 2; 3: any other */
	uint64_t collections, total_ns, max_ns;
	uint64_t freed;	  /* unreachable objects that were found */
	uint64_t late_ns; /* as in struct fact_calls */
};

/*
 * A Python module that was looked up and loaded (sprof record --calls imports); modules that were
 * already loaded do not count. No key; in order of their ends, so that what a module imports comes
 * before it.
 */
struct fact_import {
	uint64_t pid;
	/* numbers in that process, from 1 on; parent 0: not imported by a module */
	uint64_t id, parent;
	uint64_t name;	/* string */
	uint64_t found; /* 0: the import failed */
	uint64_t start_ns, total_ns;
	uint64_t self_ns; /* without the modules that it imported */
};

/*
 * What a sampled process belonged to when its first samples came, or at the end of the recording if
 * it was new then. Key: pid; if two processes had one number, the later counts.
 */
struct fact_process {
	uint64_t pid;
	uint64_t parent;
	uint64_t uid;	    /* the real user */
	uint64_t user;	    /* string: the user's name; "": not known */
	uint64_t cgroup;    /* string: path in its hierarchy, that of version 2 if there is one */
	uint64_t container; /* string: number or name; "": in no container */
	uint64_t engine;    /* string: "docker", "containerd", ...; "": in no container */
};

/*
 * How a thread spent its time while it was watched, by the switches of CPUs. Exact: cpu_ns +
 * runnable_ns + waiting_ns = wall_ns. Key: pid, thread, start_ns.
 */
struct fact_thread_time {
	uint64_t pid;	   /* 0: threads of several processes */
	uint64_t thread;   /* PROFILE_NONE: several threads that have no row of their own */
	uint64_t start_ns; /* when watching began */
	uint64_t threads;  /* how many threads the row is the sum of */
	uint64_t wall_ns, cpu_ns, runnable_ns, waiting_ns;
	uint64_t waits; /* times that it was switched to */
	/* of a segment: since when these sums count; 0: since start_ns */
	uint64_t from_ns;
};

/* The place of a process in a distributed job, as its launcher set it at its start. Key: pid. */
struct fact_rank {
	uint64_t pid;
	uint64_t rank, local_rank; /* in the job, in the host */
	uint64_t nr_ranks;	   /* number of ranks in the job; 0: unknown */
	uint64_t host;		   /* string: in a merged recording; "": the recording's own */
};

/*
 * The OpenTelemetry resource of a process: what it has published in its memory, or else its
 * environment; at most FACT_RESOURCE_MAX bytes of each. Key: pid.
 */
struct fact_resource {
	uint64_t pid;
	uint64_t service;    /* string: as in OTEL_SERVICE_NAME; "": not set */
	uint64_t attributes; /* string: as in OTEL_RESOURCE_ATTRIBUTES; "": not set */
};

#define FACT_RESOURCE_MAX 4096
#define FACT_MAX_FIELDS 32

enum collective_way {
	COLLECTIVE_GPU = 1,  /* a kernel of a communication library */
	COLLECTIVE_HOST = 2, /* a function that the host runs */
};

/*
 * The part of one process in a collective operation. No key; operations of a lane are in order of
 * time. A process arrives at start_ns; the operation cannot end before all ranks have arrived.
 */
struct fact_collective {
	uint64_t pid;
	uint64_t thread; /* thread that made the call; PROFILE_NONE where the call is not known */
	uint64_t way;	 /* enum collective_way */
	uint64_t device; /* with COLLECTIVE_GPU: CUDA's number of the device in that process */
	/* operations of a lane run in order: for a GPU, context and stream */
	uint64_t lane;
	uint64_t name; /* string: name of the kernel or the function */
	uint64_t start_ns, duration_ns;
	uint64_t call_ahead_ns; /* int64_t: start_ns minus the start of the call; 0: unknown */
	uint64_t stack;		/* stack of the call; PROFILE_NONE where it is not known */
};

/* Counts the collective operations that have no row of FACT_COLLECTIVE. */
#define COUNTER_COLLECTIVES_LEFT_OUT "collective operations not kept"

/* How sprof knows which thread held a lock. */
enum lock_holder {
	HOLDER_UNKNOWN = 0,
	HOLDER_OWNER = 1, /* the lock named it when the wait began */
	HOLDER_WAKER = 2, /* the thread that ended the wait */
};

/*
 * How long a thread waited for a lock (a futex) that another one held, estimated from the sampled
 * waits. Key: pid, address, thread, holder, known_by.
 */
struct fact_lock_wait {
	uint64_t pid;
	uint64_t address;  /* 0: further locks without room */
	uint64_t thread;   /* PROFILE_NONE: further threads without room */
	uint64_t holder;   /* thread; PROFILE_NONE: not known */
	uint64_t known_by; /* enum lock_holder */
	uint64_t place;	   /* string: module or mapping, and the offset in it; "": not known */
	uint64_t waits;	   /* estimated */
	uint64_t samples;
	uint64_t waiting_ns;
	uint64_t variance_us2; /* of waiting_ns, in us squared; 0: all waits were sampled */
	uint64_t longest_ns;
};

/*
 * The system calls of one number (sprof record --syscalls). Key: number. Percentiles are those of
 * one recording, to an eighth, or PERCENTILE_UNKNOWN; FACT_CALL_TIMES tells those of several.
 */
struct fact_system_call {
	uint64_t number, name; /* name: string */
	uint64_t calls, errors, total_ns, p50_ns, p99_ns, max_ns;
};

#define PERCENTILE_UNKNOWN UINT64_MAX

/* How many of them took how long (core/portable/call_times.h). Key: number, octave. */
struct fact_call_times {
	uint64_t number, octave, calls[CALL_OCTAVE];
};

/* The type of a field of a row. */
enum fact_field {
	FIELD_NUMBER = 'n',
	FIELD_SIGNED = 'i',
	FIELD_STRING = 's',
	FIELD_THREAD = 't',
	FIELD_STACK = 'k',
	FIELD_PID = 'p',  /* a number that names a process: hosts.h; 0: none */
	FIELD_TIME = '@', /* a number of CLOCK_MONOTONIC ns; 0: unknown */
};

struct fact_info {
	const char *fields; /* one letter per field; NULL: there is no such kind */
	uint32_t nr_fields;
	uint32_t nr_key;
};

/* Returns NULL where there is no such kind. */
const struct fact_info *fact_info(uint64_t kind);

/* An event that was sampled beside the clock (sprof record -e). Key: column. */
struct fact_event {
	uint64_t column; /* one of COLUMN_EVENT_1 and on */
	uint64_t name;	 /* string, as the user spelled the event */
	uint64_t period; /* events between two samples; 1: all were sampled; 0: it varied */
};

/*
 * The allocations of a process were sampled by sprof: its columns allocated, allocations, live and
 * live-objects are made of samples and have a sampling error. Key: pid.
 */
struct fact_memory_sampled {
	uint64_t pid;
	/* bytes between samples, the least and the greatest mean that was used */
	uint64_t least_interval, greatest_interval;
	uint64_t lost; /* samples that were dropped for lack of space */
	/* how often an unknown number of records was dropped */
	uint64_t lost_more;
};

/*
 * Adds a row of that kind (struct fact_...), with ids of the profile. Returns false where it
 * replaced another row.
 */
bool facts_put(struct profile *p, enum fact_kind kind, const void *row);
/* The row whose key is that of `row`, of a kind with a key; NULL: there is none. */
const void *facts_find(const struct profile *p, enum fact_kind kind, const void *row);
/* Adds a row of FACT_SYSTEM_CALL or FACT_CALL_TIMES to one with its key. */
void facts_add_calls(enum fact_kind kind, void *to, const void *more);
/* Returns all rows of a kind, an array of struct fact_...; valid until the next row is added. */
const void *facts_rows(const struct profile *p, enum fact_kind kind, size_t *ret_nr);
/* Since when its sums count, which is later than start_ns where they are those of a segment. */
uint64_t facts_thread_from(const struct fact_thread_time *row);
/*
 * Does the row tell of time that the profile is not about? A thread may have been watched long
 * before the wanted part of a folder began.
 */
bool facts_reaches_beyond(const struct profile *p, const struct fact_thread_time *row);
/* Returns the sum of the counter of that name over all processes; 0 where there is none. */
uint64_t facts_count(const struct profile *p, const char *counter);
/* The row of a GPU by its number in a process; NULL: there is none. */
const struct fact_gpu_device *facts_gpu_device(const struct profile *p, uint64_t pid,
					       uint64_t device);
/* Adds to all times. Rows with a time in their key must not be put afterwards. */
void facts_shift_times(struct profile *p, uint64_t shift_ns);
void facts_free(struct facts *facts);

#endif
