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
	bool is_open; /* it launched a kernel, of which no record has come */
};

struct api_calls {
	struct api_call *slots; /* by the low bits of the correlation; NULL until the first call */
	uint64_t recorded_ns;	/* start of the last call that has records */
};

void api_calls_add(struct api_calls *calls, const struct gpu_rec_api *record);
/* NULL if the call was not seen or too many came after it. Valid until the next one is added. */
const struct api_call *api_calls_find(const struct api_calls *calls, uint32_t correlation);
/* A record of the call's work has come. */
void api_calls_close(struct api_calls *calls, const struct api_call *call);
/*
 * The number of launches after the last call that has records. Earlier ones without a record are
 * not counted: they may have become nodes of a graph.
 */
uint64_t api_calls_nr_open(const struct api_calls *calls);
void api_calls_fini(struct api_calls *calls);

#endif
