/*
 * What the agent's governor did, for the recording: the levels of collecting with their times, and
 * estimates of all work from what was launched in windows.
 */
#ifndef SPROF_GPU_ESTIMATES_H
#define SPROF_GPU_ESTIMATES_H

#include <stdint.h>

struct names;

struct estimates {
	struct names *names;
	uint32_t nr_levels;  /* written so far */
	uint64_t windows_ns; /* since when there are pauses; 0: not so far */
	uint64_t limit_ppm;
};

/* Writes the levels that are new. */
void estimates_take_levels(struct estimates *e);
/* After the target has stopped writing. */
void estimates_write(struct estimates *e);

#endif
