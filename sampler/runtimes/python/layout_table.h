/*
 * Offsets inside a CPython by version: up to 3.12 from a table, from 3.13 on from the interpreter's
 * own struct _Py_DebugOffsets, which is at the start of _PyRuntime.
 */
#ifndef SPROF_LAYOUT_TABLE_H
#define SPROF_LAYOUT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/pylayout.h"

#define PYTHON_MIN_MINOR 8  /* 3.8 */
#define PYTHON_MAX_MINOR 15 /* 3.15: the newest that was tested */
#define PYTHON_DEBUG_WORDS 64

/*
 * Fills all of the layout but the addresses for CPython 3.minor. `debug` is the start of _PyRuntime
 * in the file, PYTHON_DEBUG_WORDS long; it is used from 3.13 on. 0, or -1 and in why[] the check
 * that failed. A version after PYTHON_MAX_MINOR is treated like that one if all checks pass.
 */
int python_layout_fill(struct py_layout *ret_layout, unsigned int minor, const uint64_t *debug,
		       char *why, size_t why_size);

#endif
