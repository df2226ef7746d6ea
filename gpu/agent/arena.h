/* The arenas of strings and stacks: equal content has one id, in the region for good. */
#ifndef SPROF_GPU_AGENT_ARENA_H
#define SPROF_GPU_AGENT_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Maps the look-up tables. 0 or -ENOMEM. */
int arena_init(void);
/*
 * The id of a string, or of a stack of return addresses, leaf first. Lock-free, from any thread. 0
 * where the arena is full (counted), or the string empty, or there is no frame.
 */
uint32_t arena_string(const char *bytes, size_t length);
uint32_t arena_cstring(const char *s); /* NULL is "" */
uint32_t arena_stack(const uint64_t *frames, uint32_t nr, uint8_t end);
const char *arena_text(uint32_t string); /* of an id that arena_string() gave */

#endif
