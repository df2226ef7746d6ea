/* The unwind rows of this process, as the recorder publishes them (core/portable/walk_tables.h). */
#ifndef SPROF_GPU_AGENT_WALK_MAP_H
#define SPROF_GPU_AGENT_WALK_MAP_H

#include <stdint.h>

#include "core/portable/walk_tables.h"

/*
 * Maps them to read; the descriptors stay the caller's. What is no such memory is left alone, and
 * walks go on as before. Those of the recorder before the last are unmapped, unless a thread is seen to be in them.
 */
void walk_map_set(int arena_fd, int space_fd);
/* Changes whenever stacks walked before may be wrong now. */
uint32_t walk_map_generation(void);
/* Where the interpreter of this process keeps its frames; .runtime 0: there is none. */
const struct py_layout *walk_map_python(uint32_t generation);
/* The rule at a pc; *place is what is in hand, zeroed at first. */
const struct walk_rule *walk_map_rule(uint32_t generation, uint64_t pc, struct walk_place *place);

#endif
