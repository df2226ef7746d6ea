/*
 * GPU activities in the region's form: joined with the call that caused them, added to the sums,
 * and put into the ring.
 */
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

/* One caller at a time for all of these, except activity_forget() and activity_set_end(). */

/* A buffer is about to be read that CUPTI has just completed: nothing in it can end later. */
void activity_reading(uint64_t now_ns);
/*
 * Says whether records are delivered that are not complete: what has begun then runs up to now, and
 * what has no times has not begun.
 */
void activity_set_cut_off(bool cut_off);
/* The string id of a kernel's name. */
uint32_t activity_name_id(const char *name);
/* Puts a record into the activity lane. */
void activity_emit(const struct gpu_record *record);

/*
 * Collecting ends now, at end_ns: calls after that are not seen, and what they launch is left out.
 * 0: it goes on.
 */
void activity_set_end(uint64_t end_ns);
/* From now on ignores what ended earlier: it belonged to the last recorder. */
void activity_forget(void);
/* Looks for the calls of waiting activities; with `last`, keeps them without a stack. */
void activity_settle_waiting(bool last);
/* Checks the times, finds the call and keeps the activity, or lets it wait for its call. */
void activity_take(union activity *a);

/* The steps of activity_take(). */

enum activity_call {
	ACTIVITY_CALL_UNKNOWN, /* not seen, or it has not ended yet */
	ACTIVITY_CALL_KNOWN,   /* stack, range and thread are filled in */
	ACTIVITY_CALL_LATER,   /* it came after the activity: the times are wrong, and counted so */
	ACTIVITY_CALL_WRONG,   /* the id, which is cleared, is not that of its call */
};

/*
 * Converts the times to CLOCK_MONOTONIC. False, and counted, if they make no sense: leave it out.
 */
bool activity_is_timed(union activity *a);
enum activity_call activity_find_call(union activity *a);
/* Adds to the sums and puts the record into the ring. */
void activity_keep(const union activity *a);

#endif
