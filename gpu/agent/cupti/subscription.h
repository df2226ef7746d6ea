/* Our subscription to CUPTI: taking it, reading its records, and giving it up. */
#ifndef SPROF_GPU_AGENT_SUBSCRIPTION_H
#define SPROF_GPU_AGENT_SUBSCRIPTION_H

#include <stdbool.h>

/* All of these need the lock (base/lock.h). */

/*
 * Loads CUPTI, subscribes, and enables what the recorder wants. False where that failed: the
 * reason is reported and the state of the region is set to WAITING or FAILED. On success the state
 * is the caller's to set.
 */
bool subscription_start(void);
bool subscription_is_on(void);
/* True if CUPTI refused because CUDA had not started yet; nothing is reported then. */
bool subscription_is_too_early(void);
/* Reports that CUDA never started, if that is why there is no subscription. */
void subscription_report_early(void);
/* Asks CUPTI for completed buffers. */
void subscription_flush(void);
/*
 * For the governor, while subscription_is_on(): nothing is collected between the first two; graphs
 * without their kernels from then on, false where CUPTI refuses; callbacks of launches alone, or
 * none, after subscription_pause().
 */
void subscription_pause(void);
void subscription_resume(void);
bool subscription_take_graphs_whole(void);
void subscription_count_launches(void);
void subscription_count_nothing(void);
/* Reads everything that CUPTI still has, from the thread that exits. */
void subscription_flush_at_exit(void);
/* Disables everything, reads what is in flight, and unloads CUPTI where that is possible. */
void subscription_stop(void);
/*
 * Another tool is about to subscribe, or to register its own clock or buffers: ends ours, reads
 * what is in flight, and sets the state to WAITING. False where we had no subscription.
 */
bool subscription_make_way(void);

#endif
