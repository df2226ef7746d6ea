/* cuProfilerStart() and cuProfilerStop() of the fake libcuda.so.1: calls that a tool sees. */
#include "tests/gpu/fake_cuda.h"

#define API __attribute__((visibility("default")))

typedef int CUresult;

static CUresult profiler(const char *name, uint32_t cbid)
{
	struct fake_call c = { .name = name, .cbid = cbid };

	fake_enter(&c);
	return fake_leave(&c);
}

API CUresult cuProfilerStart(void)
{
	return profiler("cuProfilerStart", 308);
}

API CUresult cuProfilerStop(void)
{
	return profiler("cuProfilerStop", 309);
}
