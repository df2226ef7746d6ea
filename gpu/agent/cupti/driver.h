/* What libcuda says of itself: asked for whatever CUPTI cannot or does not say. */
#ifndef SPROF_GPU_AGENT_DRIVER_H
#define SPROF_GPU_AGENT_DRIVER_H

#include <stdint.h>

/* cuDriverGetVersion(): 12020 is CUDA 12.2. 0: no libcuda is mapped, or it does not say. */
uint32_t driver_version(void);
/*
 * cuDeviceGetCount(): a number of devices, or minus the driver's error; -3 while cuInit() has not
 * ended. Not to be called from a callback.
 */
int driver_device_count(void);

#endif
