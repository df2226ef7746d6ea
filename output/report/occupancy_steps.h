/*
 * Occupancy of GPUs over time: the warps of the kernels that run at a moment, of those that the
 * multiprocessors hold.
 */
#ifndef SPROF_OCCUPANCY_STEPS_H
#define SPROF_OCCUPANCY_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* What holds for a GPU of a process from a moment on. */
struct occupancy_step {
	uint64_t pid, device, time_ns;
	unsigned ppm;	  /* the sum of occupancy_of_launch(), at most 1000000 */
	uint32_t unknown; /* running kernels and whole graphs whose occupancy is not known */
};

/*
 * Returns an array that the caller frees, by process, GPU and time, with a step only where one of
 * its figures changes. It has the activities of FACT_GPU_ACTIVITY alone.
 */
struct occupancy_step *occupancy_steps(const struct profile *p, size_t *ret_nr);

#endif
