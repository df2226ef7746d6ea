/* Brings libsprof-gpu.so into a process that uses CUDA already and was started without it. */
#ifndef SPROF_GPU_ATTACH_H
#define SPROF_GPU_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

struct gpu_peer;

/*
 * Connects to the library in a process. A process that uses CUDA and does not have the library
 * loads the one at `path`. Returns 0 or -errno, which is reported as an error with `must` and as a
 * warning without; a process that does not use CUDA at all is not reported.
 */
int record_gpu_attach(pid_t pid, const char *path, bool must, struct gpu_peer *ret_peer);

#endif
