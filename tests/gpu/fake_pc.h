/* PC sampling of the fake libcupti: its own functions are in fake_pc.c. */
#ifndef SPROF_TESTS_GPU_FAKE_PC_H
#define SPROF_TESTS_GPU_FAKE_PC_H

#include "tests/gpu/fake_gpu.h"

/* A kernel was launched in that context: samples of it are due. */
void fake_pc_kernel(const struct fake_op *op, void *context);
/* In each exported function: FAKE_LOG. */
void fake_cupti_note(const char *function);

#endif
