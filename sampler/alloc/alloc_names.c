/* One list for whoever looks for them: by symbol (cli/alloc) or in an own copy of libc (tests). */
#include "sampler/alloc/alloc_names.h"

const struct alloc_name alloc_names[] = {
	{ "malloc", ALLOC_MALLOC },
	{ "free", ALLOC_FREE },
	{ "calloc", ALLOC_CALLOC },
	{ "realloc", ALLOC_REALLOC },
	{ "memalign", ALLOC_ALIGNED },
	{ "aligned_alloc", ALLOC_ALIGNED },
	{ "posix_memalign", ALLOC_POSIX_ALIGNED },
	{ "valloc", ALLOC_MALLOC },
	{ "pvalloc", ALLOC_MALLOC },
	{ "cfree", ALLOC_FREE },
	/* operator new and delete of allocators that have their own; libstdc++'s call malloc */
	{ "_Znwm", ALLOC_NEW },
	{ "_Znam", ALLOC_NEW },
	{ "_ZnwmRKSt9nothrow_t", ALLOC_MALLOC },
	{ "_ZnamRKSt9nothrow_t", ALLOC_MALLOC },
	{ "_ZnwmSt11align_val_t", ALLOC_NEW_ALIGNED },
	{ "_ZnamSt11align_val_t", ALLOC_NEW_ALIGNED },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ALLOC_MALLOC },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ALLOC_MALLOC },
	{ "_ZdlPv", ALLOC_FREE },
	{ "_ZdaPv", ALLOC_FREE },
	{ "_ZdlPvm", ALLOC_FREE },
	{ "_ZdaPvm", ALLOC_FREE },
	{ "_ZdlPvRKSt9nothrow_t", ALLOC_FREE },
	{ "_ZdaPvRKSt9nothrow_t", ALLOC_FREE },
	{ "_ZdlPvSt11align_val_t", ALLOC_FREE },
	{ "_ZdaPvSt11align_val_t", ALLOC_FREE },
	{ "_ZdlPvmSt11align_val_t", ALLOC_FREE },
	{ "_ZdaPvmSt11align_val_t", ALLOC_FREE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE },
	/* jemalloc's own */
	{ "mallocx", ALLOC_MALLOC },
	{ "rallocx", ALLOC_REALLOC },
	{ "dallocx", ALLOC_FREE },
	{ "sdallocx", ALLOC_FREE },
	/*
	 * c10::reportMemoryUsageToProfiler() of PyTorch 2.0 and on, of 1.11 to 1.13, of 1.8 to
	 * 1.10
	 */
	{ "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", ALLOC_TENSOR },
	{ "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE", ALLOC_TENSOR },
	{ "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE", ALLOC_TENSOR_SHORT },
	{ "PyMem_RawMalloc", ALLOC_NAME_PYTHON_RAW },
	{ "PyMem_Malloc", ALLOC_NAME_PYTHON_MEM },
	{ "PyObject_Malloc", ALLOC_NAME_PYTHON_OBJ },
};
const size_t nr_alloc_names = sizeof(alloc_names) / sizeof(*alloc_names);
