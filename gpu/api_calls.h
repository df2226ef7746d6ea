/*
 * The recent calls that launched GPU work, found by their correlation id: the number that joins a
 * call with the work that it launched. And of these the calls whose work has no record yet: it may
 * be running still, so nothing that happened since can be known for sure.
 */
#ifndef SPROF_API_CALLS_H
#define SPROF_API_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_rec_api;
struct kept_call;

struct api_call {
	uint64_t start_ns, end_ns;
	uint64_t record_ns; /* when the last record of its work was read; 0: none yet */
	uint32_t correlation;
	uint32_t tid;
	uint32_t stack; /* of the region */
	uint32_t name;	/* string of the region */
	uint8_t api_class;
	bool is_awaited; /* its work has no record yet, or a graph may have more */
};

struct awaited_call {
	uint64_t start_ns;
	uint32_t correlation;
};

struct api_calls {
	struct api_call *slots; /* by the low bits of the correlation; NULL until the first call */
	struct kept_call *kept; /* awaited calls whose slot is another one's by now */
	size_t nr_kept;
	struct awaited_call *awaited; /* a min-heap by start; some are awaited no more */
	size_t nr_awaited, awaited_capacity;
	uint32_t want; /* enum gpu_want: calls of which work is recorded */
	/*
	 * Records of graphs with the id of no call, and when the last one was read. It may be
	 * that of any graph that was launched before, so none of these is awaited; later ones are.
	 */
	uint64_t nr_graph_lost, graph_lost_ns;
	/* Some records of calls before that moment were lost: none of these calls is awaited. */
	uint64_t lost_ns;
};

void api_calls_add(struct api_calls *calls, const struct gpu_rec_api *record);
/* NULL if the call was not seen or too many came after it. Valid until the next one is added. */
const struct api_call *api_calls_find(const struct api_calls *calls, uint32_t correlation);
/* A record of the call's work was read: `graph` is 0 outside graphs. */
void api_calls_has_record(struct api_calls *calls, uint32_t correlation, uint32_t graph,
			  uint64_t now_ns);
/*
 * The start of the oldest call whose work has no record yet; UINT64_MAX if there is none. What was
 * captured into a graph, and what failed, awaits none; nor does a call before `lost_ns`.
 */
uint64_t api_calls_oldest_awaited(struct api_calls *calls, uint64_t now_ns);
/* The number of launches whose kernel has no record yet. */
uint64_t api_calls_nr_open(const struct api_calls *calls);
void api_calls_fini(struct api_calls *calls);

#endif
