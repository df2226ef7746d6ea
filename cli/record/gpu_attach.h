/* Brings libsprof-gpu.so into a process that uses CUDA already and was started without it. */
#ifndef SPROF_GPU_ATTACH_H
#define SPROF_GPU_ATTACH_H

#include <sys/types.h>

struct gpu_peer;

/* How a process that cannot be collected from is reported. */
enum gpu_need {
	GPU_MUST,   /* as an error */
	GPU_SHOULD, /* as a warning, unless it does not use CUDA */
	GPU_MAY,    /* the same, and not if it is closed to us */
};

/*
 * Connects to the library in a process. A process that uses CUDA and does not have the library
 * loads the one at `path`. Returns 0 or -errno, reported.
 */
int record_gpu_attach(pid_t pid, const char *path, enum gpu_need need, struct gpu_peer *ret_peer);

#endif
