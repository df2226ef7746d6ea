/*
 * What a GPU ran, one by one and with the call that asked for it, as FACT_GPU_ACTIVITY: what a picture over
 * time shows. Only the first of a recording are kept; the sums have all.
 */
#ifndef SPROF_GPU_ACTIVITIES_H
#define SPROF_GPU_ACTIVITIES_H

#include <stdint.h>

struct api_call;
struct names;
union gpu_any_record;

struct activities {
	struct names *names; /* and gpu_collect_opts.activity_room */
	uint64_t nr_left_out;
};

/* `call` may be NULL: it was not seen. */
void activities_take(struct activities *a, const union gpu_any_record *record,
		     const struct api_call *call);

#endif
