/* Source lines of the rows of samples, from the code that the program has loaded. */
#ifndef SPROF_GPU_AGENT_LINES_H
#define SPROF_GPU_AGENT_LINES_H

#include <stdint.h>

/* Forgets what was looked up; before the first row. */
void lines_begin(void);
/*
 * Looks up lines of rows that await them, for about that long. One caller at a time; rows that are
 * left stay GPU_PC_LINE_AWAITED.
 */
void lines_look_up(uint64_t budget_ns);

#endif
