/* A sink that hands everything on, and tells of CPU samples as they pass: whose, when, where. */
#ifndef SPROF_GPU_TEE_H
#define SPROF_GPU_TEE_H

#include <stdint.h>

struct gpu_tee;
struct sink;

typedef void gpu_tee_fn(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns,
			uint32_t stack);

struct gpu_tee *gpu_tee_new(struct sink *to, gpu_tee_fn *fn, void *context);
void gpu_tee_free(struct gpu_tee *tee); /* NULL is fine */
/* Of the tee's; ids are those of the sink behind it. */
struct sink *gpu_tee_sink(struct gpu_tee *tee);

#endif
