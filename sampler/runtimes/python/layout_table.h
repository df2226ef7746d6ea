/*
 * Where things are inside a CPython, by its version: from a table up to 3.12, and from 3.13 on from
 * what the interpreter says of itself (struct _Py_DebugOffsets, the first thing in _PyRuntime).
 */
#ifndef SPROF_LAYOUT_TABLE_H
#define SPROF_LAYOUT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/pylayout.h"

#define PYTHON_MIN_MINOR 8  /* 3.8 */
#define PYTHON_MAX_MINOR 15 /* 3.15: the newest that was tried */
#define PYTHON_DEBUG_WORDS 64

/*
 * Fills everything but the addresses for CPython 3.minor. `debug` is the start of _PyRuntime as the
 * file has it, PYTHON_DEBUG_WORDS long; looked at from 3.13 on. 0, or -1 and in why[] the check that
 * failed. A version newer than PYTHON_MAX_MINOR is taken to be like that one where all checks pass.
 */
int python_layout_fill(struct py_layout *ret_layout, unsigned int minor, const uint64_t *debug,
		       char *why, size_t why_size);

#endif
