/*
 * Writes the events of one process that torch.profiler has too: work of its GPUs, the CUDA calls
 * that asked for it, and NVTX ranges as annotations of the host and of the GPU.
 */
#ifndef SPROF_TORCH_GPU_H
#define SPROF_TORCH_GPU_H

#include <stdint.h>

struct buffer;
struct profile;

struct torch_events {
	struct buffer *b;
	const struct profile *p;
	const char *separator; /* goes before the next event */
	uint32_t pid;
	uint64_t offset_ns; /* is added to times since the start of the recording */
};

void torch_gpu_add(struct torch_events *e);

#endif
