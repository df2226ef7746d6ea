/* What CUPTI is asked to record: activity kinds and API callbacks, by what the recorder wants. */
#ifndef SPROF_GPU_AGENT_ENABLE_H
#define SPROF_GPU_AGENT_ENABLE_H

/*
 * All of these need the lock and a subscriber. A kind that is refused is reported; the others go
 * on.
 */
void enable_kinds(void);
/*
 * Has CUPTI record whole graphs instead of their kernels if that is due (graph_level.h). Kernels
 * outside graphs are recorded as before.
 */
void enable_whole_graphs(void);
void enable_callbacks(void *subscriber);
/*
 * Asks for a record of each device, once. CUPTI reports devices that exist already only through the
 * function that dumps them. That function calls the driver, and we may be inside cuInit(): so this
 * does nothing before the first buffer has come.
 */
void enable_devices(void);
void disable_kinds(void);

#endif
