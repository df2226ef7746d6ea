/* What the BPF program that counts calls shares with the recorder. */
#ifndef SPROF_BPF_CALLS_H
#define SPROF_BPF_CALLS_H

#include <linux/types.h>

#define MAX_CALL_PROBES 1024
#define MAX_PYTHON_FUNCTIONS 65536
#define PYTHON_FILE_SIZE 256 /* with the NUL; longer ones are cut */
#define PYTHON_NAME_SIZE 128

/*
 * A Python function: where the process has its file name and its name, and the line it starts in. Names
 * are freed with the last code that has them, and their place may be another's then: so the beginning
 * of the name is part of the key.
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
#define GC_GENERATIONS 4 /* 0 to 2, and what a later version may have */

/* A run of CPython's garbage collector that has begun, by thread. */
struct gc_run {
	__u64 start_ns;
	__u32 generation, pad;
};

/* All that have ended, of a process and a generation. */
struct gc_key {
	__u32 tgid, generation;
};

struct gc_sum {
	__u64 nr, total_ns, max_ns, freed; /* freed: objects */
};

/* An import begins, or ends. */
struct import_event {
	__u64 time_ns;
	__u32 tgid, tid;
	__u8 is_end, found;
	char module[PYTHON_MODULE_SIZE - 2];
};

#endif
