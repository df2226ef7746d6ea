/*
 * The interface between the fake libcuda.so.1 and the fake libcupti.so. The "device" is a clock per
 * stream; an operation has ended when that clock has passed it. Times are CLOCK_MONOTONIC.
 *
 * There are two models of CUPTI. The ideal one delivers every record at once, complete and exactly
 * timed. With FAKE_REALISTIC=1 the libraries behave as NVIDIA's documents, release notes and bug
 * reports describe; fake_cupti.c lists what that changes.
 */
#ifndef SPROF_TESTS_GPU_FAKE_GPU_H
#define SPROF_TESTS_GPU_FAKE_GPU_H

#include <stddef.h>
#include <stdint.h>

/* One operation of the device. kind: CUPTI's activity kinds. */
struct fake_op {
	uint32_t kind;
	uint32_t correlation, device, context, stream;
	uint64_t start, end;
	const char *name; /* kernel */
	uint32_t grid[3], block[3], registers, shared;
	uint64_t bytes, address;
	uint32_t copy_kind, source_device, destination_device;
	uint32_t value;			      /* memset */
	uint32_t type;			      /* of a synchronization, memory or pool operation */
	uint64_t pool, pool_bytes, pool_used; /* pool: its address, 0 = none */
	uint64_t graph_node;
	uint32_t graph;
	uint32_t graph_nodes; /* GRAPH_TRACE: how many kernels it stands for */
	uint64_t cubin_crc;   /* kernel: of its code */
};

struct fake_tool {
	/* domain: 1 = driver, 2 = runtime */
	void (*api)(uint32_t domain, uint32_t site, uint32_t cbid, uint32_t correlation,
		    uint64_t *data, int *result);
	void (*op)(const struct fake_op *op); /* at its launch: it may end in the future */
	/* cbid of the domain of resources; a node begins with its id, a uint64_t */
	void (*node)(uint32_t cbid, const uint64_t *node, const uint64_t *original);
	/* cbid of that domain; 1: a context was made, 2: it goes, 6: a module was loaded */
	void (*resource)(uint32_t cbid, void *context, const void *cubin, size_t size);
};

/* Exported by libcuda.so.1. NULL removes the tool. */
void fake_cuda_set_tool(const struct fake_tool *tool);
const struct fake_tool *fake_cuda_tool(void);
void *fake_cuda_context(void); /* the current one */

/* A kernel; it runs for 100 ns per block of its grid. */
struct fake_kernel {
	const char *name;
	uint32_t registers;
	uint64_t cubin_crc;
};

static inline uint64_t fake_cubin_crc(const void *cubin, size_t size)
{
	uint64_t sum = 5381;

	for (size_t i = 0; i < size; i++)
		sum = sum * 33 + ((const unsigned char *)cubin)[i];
	return sum;
}

#endif
