/*
 * Contexts and modules of the fake libcuda. Each device has a primary context, which programs may
 * use without asking for it; the first that asks, and contexts that are made and destroyed, are
 * what a tool is told of.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/fake_cuda.h"
#include "tests/gpu/fake_gpu.h"

#define API __attribute__((visibility("default")))

struct module {
	uint64_t crc;
};

static void *current; /* NULL: the primary one of the device */

API void *fake_cuda_context(void)
{
	return current ? current : (void *)(uintptr_t)(fake_device + 1);
}

static void tell(uint32_t cbid, void *context, const void *bytes, size_t size)
{
	const struct fake_tool *t = fake_cuda_tool();

	if (t && t->resource)
		t->resource(cbid, context, bytes, size);
}

API int cuDevicePrimaryCtxRetain(void **context, int device)
{
	static uint64_t told; /* a bit for each device */

	*context = (void *)(uintptr_t)(device + 1);
	if (!(__atomic_fetch_or(&told, 1ull << device % 64, __ATOMIC_RELAXED) >> device % 64 & 1))
		tell(1, *context, NULL, 0);
	return 0;
}

API int cuCtxCreate_v2(void **context, unsigned int flags, int device)
{
	(void)flags;
	(void)device;
	*context = current = malloc(1);
	tell(1, current, NULL, 0);
	return 0;
}

API int cuCtxDestroy_v2(void *context)
{
	tell(2, context, NULL, 0);
	if (current == context)
		current = NULL;
	free(context);
	return 0;
}

/* `image` is text: see fake_pc.c. Its kernels have its checksum. */
API int cuModuleLoadData(void **module, const void *image)
{
	struct module *m = malloc(sizeof(*m));
	char *copy = strdup(image); /* CUPTI shows it only now */

	m->crc = fake_cubin_crc(image, strlen(image));
	*module = m;
	tell(6, fake_cuda_context(), copy, strlen(copy));
	memset(copy, '#', strlen(copy));
	free(copy);
	return 0;
}

uint64_t fake_module_crc(const void *module)
{
	return module ? ((const struct module *)module)->crc : 0x5eed;
}
