/*
 * Loads functions of the CUDA driver from whatever libcuda.so.1 the loader finds; tests/gpu gives
 * targets a fake one.
 */
#ifndef SPROF_TESTS_CUDA_DRIVER_H
#define SPROF_TESTS_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct cuda_entry {
	const char *name;
	void *to; /* the pointer to the function */
};

/* Ends the program where there is no driver. */
static inline void load_cuda(const struct cuda_entry *entries, size_t nr)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	if (!cuda) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	for (size_t i = 0; i < nr; i++) {
		void *at = dlsym(cuda, entries[i].name);

		memcpy(entries[i].to, &at, sizeof(at));
	}
}

#endif
