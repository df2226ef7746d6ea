/* The variables by which CUDA and NVTX load libsprof-gpu.so into a program that sprof starts. */
#ifndef SPROF_GPU_ENVIRONMENT_H
#define SPROF_GPU_ENVIRONMENT_H

struct launch;

/* `library` is the path of libsprof-gpu.so, `socket` the name of the socket that it connects to. */
void gpu_environment_set(struct launch *launch, const char *library, const char *socket);

#endif
