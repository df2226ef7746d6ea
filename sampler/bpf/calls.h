/*
 * The element types of the maps of calls.bpf.c, which counts calls and times garbage collections,
 * imports and collective operations, and the records in its rings. Both sides include it. Times are
 * CLOCK_MONOTONIC ns.
 */
#ifndef SPROF_BPF_CALLS_H
#define SPROF_BPF_CALLS_H

#include <linux/types.h>

#define MAX_CALL_PROBES 1024
#define MAX_CALL_PROCESSES 16384 /* at a time, unless those of the whole system are counted */
#define MAX_PYTHON_FUNCTIONS 65536
#define PYTHON_FILE_SIZE 256 /* with the NUL; longer names are cut */
#define PYTHON_NAME_SIZE 128

/*
 * A Python function: the addresses of its file name and its name in the process, and its first
 * line. A name is freed with the last code object that has it, and another name may then lie at its
 * address: so the beginning of the name is part of the key.
 */
struct python_call_key {
	__u64 file, name; /* addresses */
	char name_start[16];
	__u32 tgid;
	__s32 line;
};

struct python_calls {
	__u64 nr;
	char file[PYTHON_FILE_SIZE], name[PYTHON_NAME_SIZE];
};

#define PYTHON_MODULE_SIZE 120
#define GC_GENERATIONS 4 /* 0 to 2, and one for all that later versions may add */

/* A garbage collection that has begun; by thread. */
struct gc_run {
	__u64 start_ns;
	__u32 generation, pad;
};

/* The garbage collections that have ended; by process and generation. */
struct gc_key {
	__u32 tgid, generation;
};

struct gc_sum {
	__u64 nr, total_ns, max_ns, freed; /* freed: objects */
};

/* The beginning or the end of an import. */
struct import_event {
	__u64 time_ns;
	__u32 tgid, tid;
	__u8 is_end, found;
	char module[PYTHON_MODULE_SIZE - 2];
};

/* A call of a collective operation that has begun; by thread. */
struct collective_run {
	__u64 start_ns;
	__u64 sp;   /* where its return address lies */
	__u64 lane; /* see struct collective_event */
	__u32 probe, pad;
};

/* A collective operation that has returned. */
struct collective_event {
	__u64 start_ns, end_ns;
	__u64 lane; /* address of the communicator, in that process */
	__u32 tgid, tid;
	__u32 probe, pad; /* probe: at the entry of the function */
};

#endif
