/*
 * Each piece of GPU work with the call that launched it, as FACT_GPU_ACTIVITY: what a picture over
 * time shows. Only the first activities of a recording are kept; the sums (sums.h) have all.
 */
#ifndef SPROF_GPU_ACTIVITIES_H
#define SPROF_GPU_ACTIVITIES_H

#include <stdint.h>

struct api_call;
struct names;
union gpu_any_record;

struct activities {
	struct names *names; /* its opts have the room that is left */
	uint64_t nr_left_out;
};

/* `call` is NULL if it was not seen. */
void activities_take(struct activities *a, const union gpu_any_record *record,
		     const struct api_call *call);

#endif
