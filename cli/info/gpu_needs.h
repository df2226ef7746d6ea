/*
 * What recording a GPU takes beside NVIDIA's driver: a libcupti that this driver takes, and rights;
 * for sprof doctor.
 */
#ifndef SPROF_GPU_NEEDS_H
#define SPROF_GPU_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/info/gpu_facts.h"

enum gpu_need { GPU_NEED_CUPTI, GPU_NEED_COUNTERS, GPU_NEED_ATTACH, NR_GPU_NEEDS };

/* Labels in text, and keys in JSON. */
extern const char *const gpu_need_names[NR_GPU_NEEDS], *const gpu_need_keys[NR_GPU_NEEDS];

/* Opens a file below the root for reading. NULL: it cannot be. */
FILE *gpu_needs_open(const char *root, const char *path);
/* may_ptrace: this process has CAP_SYS_PTRACE. root: as in gpu_facts.h. */
void gpu_needs_of_host(const char *root, bool may_ptrace, struct gpu_facts ret[NR_GPU_NEEDS]);
/* The version of the loaded driver, such as "580.159.01". False: it is not known. */
bool gpu_needs_driver_version(const char *root, char *ret, size_t size);
/*
 * The newest major version of CUDA that the driver takes, 0 where the driver is not known or older
 * than CUDA 11.
 */
unsigned int gpu_needs_cuda_of_driver(const char *root);
/* The major version of CUDA that a file is of, "libcupti.so.12" and the like; 0: not known. */
unsigned int gpu_needs_cuda_of_cupti(const char *name);

#endif
