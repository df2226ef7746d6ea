/* The calls that lately started something on a GPU, by the number that joins them with what they started. */
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
	struct api_call *slots; /* by the low bits of the correlation; NULL until the first comes */
};

void api_calls_add(struct api_calls *calls, const struct gpu_rec_api *record);
/* NULL where the call was not seen, or too many came after it. Good until the next is added. */
const struct api_call *api_calls_find(const struct api_calls *calls, uint32_t correlation);
void api_calls_fini(struct api_calls *calls);

#endif
