/* The driver's functions are found in the mapped libcuda; it is never loaded from here. */
#include "gpu/agent/cupti/driver.h"

#include <stddef.h>

#include "gpu/agent/base/image.h"

#define CUDA_ERROR_NOT_INITIALIZED 3

static void *find(const char *name)
{
	struct image image;

	return image_find("libcuda.so", &image) ? image_symbol(&image, name) : NULL;
}

uint32_t driver_version(void)
{
	int (*get)(int *) = (int (*)(int *))find("cuDriverGetVersion");
	int version = 0;

	return get && !get(&version) && version > 0 ? (uint32_t)version : 0;
}

int driver_device_count(void)
{
	int (*get)(int *) = (int (*)(int *))find("cuDeviceGetCount");
	int nr = 0, err = get ? get(&nr) : CUDA_ERROR_NOT_INITIALIZED;

	return err ? -err : nr;
}
