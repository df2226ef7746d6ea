/* Activities in the region's own form: joined with their calls, folded, and put into the ring. */
#ifndef SPROF_GPU_AGENT_ACTIVITY_KEEP_H
#define SPROF_GPU_AGENT_ACTIVITY_KEEP_H

#include <stdbool.h>

#include "gpu/agent/base/records.h"

union activity {
	struct gpu_record head;
	struct gpu_work work;
	struct gpu_rec_kernel kernel;
	struct gpu_rec_memcpy memcpy;
	struct gpu_rec_memset memset;
	struct gpu_rec_sync sync;
	struct gpu_rec_graph graph;
	struct gpu_rec_memory memory;
	struct gpu_rec_pool pool;
};

/* All of these: one caller at a time. */

/* On CLOCK_MONOTONIC, whatever CUPTI's clock is. */
uint64_t activity_to_monotonic(uint64_t ns);
uint32_t activity_name_id(const char *name);
/* Puts a record into the lane of activities. */
void activity_emit(const struct gpu_record *record);

/* What ended before now is no more taken: it was the last recorder's. From any thread. */
void activity_forget(void);
/* What CUPTI's times are: CLOCK_MONOTONIC, or else CLOCK_REALTIME (converted). */
void activity_set_clock(bool monotonic);
/* Looks for the calls of those that wait; with `last` they are kept without a stack. */
void activity_settle_waiting(bool last);
/* Checks the times, finds the call, and keeps it; or lets it wait for its call. */
void activity_take(union activity *a);
/* The steps of it. Do the times make sense? (They are CUPTI's before and CLOCK_MONOTONIC after.) If
 * not it is counted, and is to be left out. */
bool activity_is_timed(union activity *a);
bool activity_find_call(union activity *a);
void activity_keep(const union activity *a);

#endif
