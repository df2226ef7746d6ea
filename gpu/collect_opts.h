/*
 * What the collector needs from its caller: the target's pid, frames for addresses, and how much
 * may be kept one by one. A header of its own, as every part of the collector reads it.
 */
#ifndef SPROF_GPU_COLLECT_OPTS_H
#define SPROF_GPU_COLLECT_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sink;

#define GPU_NO_FRAME UINT32_MAX
#define GPU_UNKNOWN_FRAME (UINT32_MAX - 1)

struct gpu_collect_opts {
	pid_t pid;		   /* of the target, as the recorder sees it */
	bool without_kernels;	   /* these are not collected: when devices are idle is not known */
	uint64_t max_overhead_ppm; /* the limit that the agent keeps; 0: none */
	void *context;
	/*
	 * Returns the sink's id of the frame at an address of the target (inside the calling
	 * instruction); GPU_NO_FRAME for what is not part of the program, CUPTI and
	 * libsprof-gpu.so; GPU_UNKNOWN_FRAME where nothing is mapped. NULL: no address is ever
	 * known.
	 */
	uint32_t (*frame)(void *context, struct sink *sink, uint64_t address);
	/*
	 * The same for a Python frame. `word` is FRAME_PYTHON (core/portable/pycode.h); `code` is
	 * what the target wrote about its code object, a struct code_record and a line table:
	 * untrusted.
	 */
	uint32_t (*python_frame)(void *context, struct sink *sink, uint64_t word, const void *code,
				 size_t size);
	/*
	 * How many activities, runs of ranges and collective operations may still be kept one by
	 * one. Counted down; several processes share them. NULL: none is kept.
	 */
	uint64_t *activity_room, *run_room, *collective_room;
	/* Returns a kernel's readable name, to be freed, or NULL to keep the name. May be NULL. */
	char *(*demangle)(const char *name);
};

#endif
