/* libsprof-gpu.so for a process that uses CUDA already, and was started without it. */
#ifndef SPROF_GPU_ATTACH_H
#define SPROF_GPU_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

struct gpu_peer;

/*
 * Connects to the library in a process. One that uses CUDA and has not got it loads the one at `path`. 0; or -errno:
 * reported as an error if it `must` be, else as a warning, or, where the process does not use CUDA at all, not.
 */
int record_gpu_attach(pid_t pid, const char *path, bool must, struct gpu_peer *ret_peer);

#endif
