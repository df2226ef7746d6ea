/* What CUPTI is asked to record: activity kinds and API callbacks, by what the recorder wants. */
#ifndef SPROF_GPU_AGENT_ENABLE_H
#define SPROF_GPU_AGENT_ENABLE_H

#include <stdbool.h>

/*
 * All of these need the lock and a subscriber. A kind that is refused is reported; the others go
 * on.
 */
void enable_kinds(void);
/* Forgets what the last subscriber had enabled. */
void enable_begin(void);
/*
 * Has CUPTI record whole graphs instead of their kernels if that is due (graph_level.h). Kernels
 * outside graphs are recorded as before.
 */
void enable_whole_graphs(void);
/* The same because the kernels cost too much. False where CUPTI refuses. */
bool enable_graphs_for_cost(void);
/*
 * False where CUPTI's correlation ids of graph launches and their kernels are known to be wrong
 * (cupti_abi.h). Any thread may ask.
 */
bool enable_graph_ids_hold(void);
/* Another tool has, or had, a session of CUPTI. */
void enable_note_foreign_session(void);
void enable_callbacks(void *subscriber);
void disable_callbacks(void *subscriber, bool but_launches);
/*
 * Asks for a record of each device, once. CUPTI reports devices that exist already only through the
 * function that dumps them. That function calls the driver, and we may be inside cuInit(): so this
 * does nothing before the first buffer has come.
 */
void enable_devices(void);
void disable_kinds(void);

#endif
