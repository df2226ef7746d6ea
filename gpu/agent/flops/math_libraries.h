/*
 * The libraries whose calls are counted: cuBLAS, cuBLASLt, cuDNN. Their functions are replaced in
 * the import tables of the modules that call them (base/imports.h). A caller that has an address
 * from dlsym(), or whose table is read-only by now, is not seen.
 */
#ifndef SPROF_GPU_AGENT_MATH_LIBRARIES_H
#define SPROF_GPU_AGENT_MATH_LIBRARIES_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/agent/base/imports.h"

struct math_library {
	const char *file; /* its file name begins so */
	/* The functions; `real` is filled in here, and read by `ours`. */
	struct import *imports;
	size_t nr;
	/* Functions that ours call; `real` is filled in. They are not replaced. */
	struct import *needed;
	size_t nr_needed;
};

extern const struct math_library math_cublas, math_cublaslt, math_cudnn;

/* The address of the real function. */
static inline uintptr_t math_real(const struct import *import)
{
	return __atomic_load_n(&import->real, __ATOMIC_RELAXED);
}

/* All need the lock (base/lock.h). */

/* Replaces the functions in all modules that are loaded now. */
void math_libraries_watch(void);
/* The same for modules that came since, if it was called; cheap where none came. */
void math_libraries_look(void);
/* Puts the import tables back. */
void math_libraries_ignore(void);

#endif
