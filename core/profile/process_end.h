/*
 * Facts of processes whose memory was sampled: how one ended, in words too, and what it and its
 * allocators held. FACT_PROCESS_END, FACT_MEMORY_HELD, FACT_MEMORY_UNHOOKED, FACT_TENSOR_MEMORY,
 * FACT_TENSOR_LEVEL.
 */
#ifndef SPROF_PROCESS_END_H
#define SPROF_PROCESS_END_H

#include <stdint.h>

/* How a process ended. */
enum process_end {
	PROCESS_END_UNKNOWN = 0, /* the kernel does not tell (before Linux 6.15), or not yet */
	PROCESS_END_EXIT = 1,	 /* code: its exit status */
	PROCESS_END_SIGNAL = 2,	 /* code: the signal */
	/* SIGKILL, and its cgroup counted one more kill for lack of memory */
	PROCESS_END_NO_MEMORY = 3,
};

/* The end of a process whose memory was sampled: what is live is what it held then. Key: pid. */
struct fact_process_end {
	uint64_t pid, time_ns; /* time_ns: when its end was noticed */
	uint64_t how, code;    /* how: enum process_end */
};

/*
 * What such a process held, as the kernel counts it: anonymous memory in RAM and swap, from any
 * allocator. The part without samples was there before, or is kept by allocators for reuse, or
 * comes from functions that are not hooked. Key: pid.
 */
struct fact_memory_held {
	uint64_t pid;
	/* when it was hooked; at its end or the recording's */
	uint64_t before_bytes, after_bytes;
	uint64_t live_bytes; /* estimated by samples: from hooked functions, and not freed */
};

/*
 * An allocation function of such a process that could not be hooked, so what it allocates or frees
 * is not counted. All but pid are strings. Key: pid, name, path.
 */
struct fact_memory_unhooked {
	uint64_t pid;
	uint64_t name, path; /* path: of its module; "": Python's own tables of allocators */
	uint64_t why;
};

/*
 * The next two are of memory that PyTorch's allocators report (sprof record --alloc=tensor). A
 * device is the low byte of a c10::DeviceType with its index in the next byte.
 */

/*
 * What an allocator of a process reported for one device. Its totals include blocks that it had
 * handed out before it was hooked. Key: pid, device.
 */
struct fact_tensor_memory {
	uint64_t pid, device;
	uint64_t name; /* string: "cuda:0", "cpu" */
	/* 1: every block was recorded; else the greatest number of bytes between samples */
	uint64_t interval;
	uint64_t lost;		  /* blocks without room, of all devices of the process */
	uint64_t blocks, bytes;	  /* handed out, recorded or not */
	uint64_t before_bytes;	  /* held when it was hooked */
	uint64_t allocated_bytes; /* held at the end */
	uint64_t peak_bytes;	  /* the most that was held */
	uint64_t reserved_bytes;  /* taken from the driver, at the end; 0: not reported */
	uint64_t peak_reserved_bytes;
};

/*
 * What an allocator holds from a moment on. No key; in order of time for each device. Of changes in
 * a short time, only the peak and the last one are kept.
 */
struct fact_tensor_level {
	uint64_t pid, device;
	uint64_t time_ns;
	uint64_t allocated_bytes, reserved_bytes;
};

#define PROCESS_END_TEXT 96

/*
 * Returns "exited with status 1", "was killed by signal 9 (Killed)", ...: a verb, to follow a name.
 */
const char *process_end_text(const struct fact_process_end *end, char buf[PROCESS_END_TEXT]);

#endif
