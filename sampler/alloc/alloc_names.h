/* The names of allocation functions, and what each of them does. */
#ifndef SPROF_ALLOC_NAMES_H
#define SPROF_ALLOC_NAMES_H

#include <stddef.h>

#include "sampler/agent/alloc/alloc_region.h"

/* Beyond enum alloc_entry: not hooked, but they lead to Python's tables (python_tables.h). */
enum {
	ALLOC_NAME_PYTHON_RAW = NR_ALLOC_ENTRIES,
	ALLOC_NAME_PYTHON_MEM,
	ALLOC_NAME_PYTHON_OBJ,
};

struct alloc_name {
	const char *name;
	unsigned int entry; /* enum alloc_entry, or one of those above */
};

/* malloc is the first: a module that defines it has an allocator. */
extern const struct alloc_name alloc_names[];
extern const size_t nr_alloc_names;

#endif
