/*
 * The recent calls that launched GPU work, found by their correlation id: the number that joins a
 * call with the work that it launched.
 */
#ifndef SPROF_API_CALLS_H
#define SPROF_API_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_rec_api;

struct api_call {
	uint64_t start_ns, end_ns;
	uint32_t correlation;
	uint32_t tid;
	uint32_t stack; /* of the region */
	uint32_t name;	/* string of the region */
	uint8_t api_class;
};

struct api_calls {
	struct api_call *slots; /* by the low bits of the correlation; NULL until the first call */
};

void api_calls_add(struct api_calls *calls, const struct gpu_rec_api *record);
/* NULL if the call was not seen or too many came after it. Valid until the next one is added. */
const struct api_call *api_calls_find(const struct api_calls *calls, uint32_t correlation);
void api_calls_fini(struct api_calls *calls);

#endif
