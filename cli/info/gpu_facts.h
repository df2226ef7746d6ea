/* Whether sprof can record GPUs here, and what it lacks; for sprof doctor. */
#ifndef SPROF_GPU_FACTS_H
#define SPROF_GPU_FACTS_H

#include <stdbool.h>
#include <sys/types.h>

#define GPU_FACTS_TEXT 512

struct gpu_facts {
	bool ok;
	char what[GPU_FACTS_TEXT]; /* what works, or why not */
	char hint[GPU_FACTS_TEXT]; /* the fix; "" = none */
};

/* This host. root: "" or a folder that stands for "/"; has_library: libsprof-gpu.so is there. */
void gpu_facts_of_host(const char *root, bool has_library, struct gpu_facts *ret);
/*
 * The same for a process, judged by the files that it has mapped, read with the rights of the
 * caller. can_inject, why_not: whether it could be made to load a library (struct timer_way).
 */
void gpu_facts_of_process(const char *root, pid_t pid, bool can_inject, const char *why_not,
			  struct gpu_facts *ret);

#endif
