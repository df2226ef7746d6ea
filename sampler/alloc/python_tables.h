/*
 * Python's tables of allocators: for each of the domains raw, mem and obj a context and four
 * functions, which PyMem_Malloc() and the others call. In mem and obj stand the functions of its
 * pools for small objects. The tables are data, so they are hooked by replacing the addresses.
 */
#ifndef SPROF_PYTHON_TABLES_H
#define SPROF_PYTHON_TABLES_H

#include <stddef.h>

#include "sampler/alloc/allocations.h"

struct inject_process;
struct py_layout;

#define PYTHON_NR_SLOTS 8u /* malloc, calloc, realloc, and free if need be, of mem and of obj */

/*
 * Fills ret_slots[PYTHON_NR_SLOTS] with the words to be hooked and returns their number. 0: there
 * is nothing to be hooked; *ret_why says why small objects are missed then, or is NULL where none
 * are. The `functions` are those of the process, with PyObject_Malloc and its kin among them.
 */
size_t python_tables_find(const struct inject_process *process, const struct py_layout *layout,
			  const struct alloc_function *const *functions, size_t nr,
			  struct alloc_function *ret_slots, const char **ret_why);

#endif
