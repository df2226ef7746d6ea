/* Brings libsprof-gpu.so into a process that uses CUDA already and was started without it. */
#ifndef SPROF_GPU_ATTACH_H
#define SPROF_GPU_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

struct gpu_peer;
struct sandbox;

/*
 * Connects to the library in a process; if the process uses CUDA without it, has it load the one at
 * `path`. The process's files are parsed in the sandbox. Returns 0 or -errno, which is reported: as
 * an error if `must`, otherwise as a warning, and not at all for a process that does not use CUDA.
 */
int record_gpu_attach(pid_t pid, const char *path, const struct sandbox *sandbox, bool must,
		      struct gpu_peer *ret_peer);

#endif
