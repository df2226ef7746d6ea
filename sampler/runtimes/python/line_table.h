/*
 * The source line of an instruction of a Python code object, from CPython's line table, whose
 * format differs between 3.9, 3.10 and 3.11.
 */
#ifndef SPROF_LINE_TABLE_H
#define SPROF_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * `table` is co_lnotab (up to 3.9) or co_linetable of CPython 3.minor, or its beginning; `position`
 * is a byte offset into the code. 0: the instruction has no line, or its entry is beyond `size`.
 */
uint32_t python_line(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
		     uint32_t position);

#endif
