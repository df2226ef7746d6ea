/*
 * The records of the fake libcupti.so, with the sizes and offsets of NVIDIA's headers. Written
 * independently of gpu/agent/cupti/cupti_abi.h, so that each checks the other.
 */
#ifndef SPROF_TESTS_GPU_FAKE_CUPTI_H
#define SPROF_TESTS_GPU_FAKE_CUPTI_H

#include "tests/gpu/fake_gpu.h"

/* Bytes of a record of that kind; 0 = this version has none. */
size_t fake_record_size(uint32_t kind);
/* Writes a record and returns its size. */
size_t fake_record_write(uint8_t *to, const struct fake_op *op);
const char *fake_driver_name(uint32_t cbid);
const char *fake_runtime_name(uint32_t cbid);

#endif
