/*
 * Before CUDA 13.0 update 1, cuptiActivityDisable(CONCURRENT_KERNEL) may deadlock beside a launch
 * in another thread. The gate keeps threads at the entry of a launch until it is done.
 */
#ifndef SPROF_GPU_AGENT_LAUNCH_GATE_H
#define SPROF_GPU_AGENT_LAUNCH_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Says which CUPTI this is: with a newer one the gate stands open and costs nothing. */
void launch_gate_init(uint32_t cupti_version);
bool launch_gate_is_needed(void);

/* For the callbacks at the entry and the exit of a launch. Entering may wait, up to 100 ms. */
void launch_gate_enter(void);
void launch_gate_leave(void);

/*
 * Closes the gate and waits until no thread is inside a launch. False, with the gate open again, if
 * one still is after 50 ms: the driver's queue may be full.
 */
bool launch_gate_close(void);
void launch_gate_open(void);

#endif
