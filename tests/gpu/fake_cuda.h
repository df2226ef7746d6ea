/* What the files of the fake libcuda.so.1 share: telling the tool about calls and device work. */
#ifndef SPROF_TESTS_GPU_FAKE_CUDA_H
#define SPROF_TESTS_GPU_FAKE_CUDA_H

#include <stdint.h>

struct fake_op;

struct fake_call {
	const char *name;
	uint32_t cbid, correlation;
	uint64_t data, runtime_data;
	int result;
};

extern uint32_t fake_device; /* of the current context */

uint64_t fake_now(void);
void fake_enter(struct fake_call *c);
int fake_leave(struct fake_call *c);
void fake_emit(struct fake_op *op);
uint64_t fake_module_crc(const void *module);

#endif
