/*
 * The unwind rows of this process, which the recorder publishes in shared memory
 * (core/portable/walk_tables.h) and may replace at any time.
 */
#ifndef SPROF_GPU_AGENT_WALK_MAP_H
#define SPROF_GPU_AGENT_WALK_MAP_H

#include <stdint.h>

#include "core/portable/walk_tables.h"

/*
 * Maps them read-only; the descriptors stay the caller's. Does nothing where they hold something
 * else. Unmaps the rows of the recorder before the last, unless a thread may still be walking by
 * them.
 */
void walk_map_set(int arena_fd, int space_fd);
/* Changes whenever a stack walked earlier may be wrong now. 0 without rows. */
uint32_t walk_map_generation(void);
/* Where the Python interpreter keeps its frames; .runtime is 0 if there is none. */
const struct py_layout *walk_map_python(uint32_t generation);
/* The rule at a pc. *place caches the mapped file around it; zeroed at first. */
const struct walk_rule *walk_map_rule(uint32_t generation, uint64_t pc, struct walk_place *place);

/* In a forked child, which does not have the parent's rows. */
void walk_map_in_child(void);

#endif
