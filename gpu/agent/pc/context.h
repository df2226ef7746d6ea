/* Sampling of program counters in one CUDA context. */
#ifndef SPROF_GPU_AGENT_PC_CONTEXT_H
#define SPROF_GPU_AGENT_PC_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/agent/cupti/pc_abi.h"

#define PC_MAX_STALLS 256u

struct pc_stall {
	uint32_t name; /* string */
	bool is_idle;  /* counts samples that another reason counts, too: nothing was issued */
	bool is_known;
};

struct pc_context {
	void *context; /* CUcontext */
	bool is_on;
	uint32_t nr_stalls;
	uint32_t reasons[PC_MAX_STALLS];       /* CUPTI's indices */
	struct pc_stall stalls[PC_MAX_STALLS]; /* by such an index */
	void *memory;			       /* of both buffers */
	size_t memory_bytes;
	struct cupti_pc_data last; /* CUPTI's: it writes there when sampling ends */
	struct cupti_pc_data data; /* what is read */
};

/* Callers of all of these take turns. */

/* Begins to sample; a refusal is reported with its cause. The struct must not move from then on. */
void pc_context_start(struct pc_context *c, void *context);
/* Adds what CUPTI has to the rows of the region. */
void pc_context_read(struct pc_context *c);
/* Reads the rest, ends sampling and frees the buffers. */
void pc_context_end(struct pc_context *c);

#endif
