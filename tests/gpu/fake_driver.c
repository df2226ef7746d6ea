/*
 * The calls of the fake libcuda.so.1 that no tool sees: those before the first launch. Contexts
 * and streams are numbers; an event is the time that fake_cuda.c wrote into it.
 *
 *	FAKE_DEVICES=n		the number of devices, else 2
 *	FAKE_DEVICE_ERROR=n	cuDeviceGetCount fails with n
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))
#define MAX_STREAMS 64

typedef int CUresult;

API CUresult cuDeviceGetCount(int *nr)
{
	const char *told = getenv("FAKE_DEVICES"), *error = getenv("FAKE_DEVICE_ERROR");

	*nr = told ? atoi(told) : 2;
	return error ? atoi(error) : 0;
}

API CUresult cuDeviceGet(int *d, int number)
{
	*d = number;
	return 0;
}

API CUresult cuCtxSetCurrent(void *context)
{
	return !context;
}

API CUresult cuStreamCreate(void **stream, unsigned int flags)
{
	static uintptr_t next;

	(void)flags;
	*stream = (void *)(1 + __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % (MAX_STREAMS - 1));
	return 0;
}

API CUresult cuEventCreate(void **event, unsigned int flags)
{
	(void)flags;
	*event = calloc(1, sizeof(uint64_t));
	return !*event;
}

API CUresult cuEventElapsedTime(float *ms, void *start, void *end)
{
	*ms = (float)(*(uint64_t *)end - *(uint64_t *)start) / 1e6f;
	return 0;
}
