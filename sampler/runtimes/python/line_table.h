/*
 * The source lines of a Python code object, from CPython's line table, whose format differs between
 * 3.9, 3.10 and 3.11. The table is a target's, so it is read in a child process (code_reader.h).
 */
#ifndef SPROF_LINE_TABLE_H
#define SPROF_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Instructions from the end of the run before (0 for the first) up to `end` have this line. */
struct line_run {
	uint32_t end;  /* a byte offset into the code */
	uint32_t line; /* 0: they have none */
};

/*
 * Fills at most `max` runs, whose ends ascend, and returns their number. `table` is co_lnotab (up
 * to 3.9) or co_linetable of CPython 3.minor, or its beginning.
 */
size_t python_lines(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
		    struct line_run *runs, size_t max);

/* The line of the instruction at a byte offset; 0: it has none, or is after the last run. */
uint32_t python_line(const struct line_run *runs, size_t nr, uint32_t position);

#endif
