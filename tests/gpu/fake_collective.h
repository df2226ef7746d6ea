/* Kernels of the fake libcuda.so.1 that wait for those of other processes, as NCCL's do. */
#ifndef SPROF_TESTS_GPU_FAKE_COLLECTIVE_H
#define SPROF_TESTS_GPU_FAKE_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

struct fake_op;

/* What a kernel whose name begins with "nccl" takes as its one parameter. */
struct fake_collective {
	uint32_t communicator; /* below 64 */
	uint32_t nr_ranks;
};

/* Is it such a kernel, in a process with FAKE_JOB? */
bool fake_collective_is(const char *kernel, void **params);
/* The kernel has started at op->start. */
void fake_collective_arrive(const struct fake_collective *c, const struct fake_op *op);
/* Waits until the kernels of all ranks have started, and says when they end. */
uint64_t fake_collective_end(void);

#endif
