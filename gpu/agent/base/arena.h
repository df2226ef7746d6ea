/* The arenas of strings and stacks: equal content has one id, in the region for good. */
#ifndef SPROF_GPU_AGENT_ARENA_H
#define SPROF_GPU_AGENT_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Maps the look-up tables. 0 or -ENOMEM. */
int arena_init(void);
/*
 * The id of a string, or of a stack of return addresses, leaf first. Lock-free, from any thread. 0
 * where the arena is full (counted), or the string empty, or there is no frame.
 */
uint32_t arena_string(const char *bytes, size_t length);
uint32_t arena_cstring(const char *s);	      /* NULL is "" */
uint32_t arena_wide_string(const wchar_t *s); /* UTF-32, kept as UTF-8, at most 1 KiB; NULL is "" */
uint32_t arena_stack(const uint64_t *frames, uint32_t nr, uint8_t end);
/*
 * The same with the sum of the frames, where the caller has it: that of no frame is 0, and with one more it is
 * arena_sum(). So the sum of some frames and then others is that of the first times a power of the factor, as many as
 * there are others, and that of the others.
 */
uint32_t arena_stack_of_sum(const uint64_t *frames, uint32_t nr, uint8_t end, uint64_t sum);
#define ARENA_FACTOR 0x9e3779b97f4a7c15ull

/* Multiply and fold: spread, not secrecy, is what a table needs. */
static inline uint64_t arena_mix(uint64_t word)
{
	unsigned __int128 p = (unsigned __int128)word * 0xd6e8feb86659fd93ull;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t arena_sum(uint64_t sum, uint64_t frame)
{
	return sum * ARENA_FACTOR + arena_mix(frame);
}

const char *arena_text(uint32_t string); /* of an id that arena_string() gave */

#endif
