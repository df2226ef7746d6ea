/* The stretches of time that a program asked to be recorded, as the GPU library shares them. */
#ifndef SPROF_CAPTURE_WINDOWS_H
#define SPROF_CAPTURE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_region;

/* Does the time lie in one of them? */
bool capture_windows_hold(const struct gpu_region *region, uint64_t time_ns);
bool capture_windows_first_ended(const struct gpu_region *region);

#endif
