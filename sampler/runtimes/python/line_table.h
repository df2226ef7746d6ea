/* From an instruction of a Python code object to its source line, by CPython's line tables. */
#ifndef SPROF_LINE_TABLE_H
#define SPROF_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * `table` is co_lnotab (up to 3.9) or co_linetable of CPython 3.minor, or its beginning; `position`
 * an offset in bytes into the code. The line, or 0: none is said, or it lies beyond the part of the
 * table that is there.
 */
uint32_t python_line(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
		     uint32_t position);

#endif
