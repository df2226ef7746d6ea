/*
 * Each piece of GPU work with the call that launched it, as FACT_GPU_ACTIVITY: what a picture over
 * time shows. Only the first activities of a recording are kept; the sums (sums.h) have all.
 * Kernels of communication libraries are kept once more, as FACT_COLLECTIVE, with room of their
 * own: ranks of a job are compared by them (output/ranks).
 */
#ifndef SPROF_GPU_ACTIVITIES_H
#define SPROF_GPU_ACTIVITIES_H

#include <stdint.h>

struct api_call;
struct names;
union gpu_any_record;

struct activities {
	struct names *names; /* its opts have the room that is left */
	uint64_t nr_left_out, nr_collectives_left_out;
};

/* `call` is NULL if it was not seen. */
void activities_take(struct activities *a, const union gpu_any_record *record,
		     const struct api_call *call);
/* The same for a kernel that communicates; `stack` is the sink's, of its call, or PROFILE_NONE. */
void activities_take_collective(struct activities *a, const union gpu_any_record *record,
				const struct api_call *call, uint32_t stack);

#endif
