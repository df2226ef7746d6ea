/*
 * The arenas of strings and stacks in the region. Equal content has one id, which stays valid as
 * long as the region does.
 */
#ifndef SPROF_GPU_AGENT_ARENA_H
#define SPROF_GPU_AGENT_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct gpu_region;

/* Maps the look-up tables. 0 or -ENOMEM. */
int arena_init(void);
/*
 * Return the id of a string, or of a stack of return addresses, leaf first. Lock-free, from any
 * thread. 0 for an empty string, a stack without frames, and a full arena (counted).
 */
uint32_t arena_string(const char *bytes, size_t length);
/*
 * Takes over the strings of the process that forked this one, with their ids: NVTX domains and
 * registered strings are such ids. Stops at a string whose id would differ.
 */
void arena_inherit(const struct gpu_region *parent);
uint32_t arena_cstring(const char *s);	      /* NULL is "" */
uint32_t arena_wide_string(const wchar_t *s); /* UTF-32, kept as UTF-8, at most 1 KiB; NULL is "" */
uint32_t arena_stack(const uint64_t *frames, uint32_t nr, uint8_t end);
/*
 * The same for a caller that knows the sum of the frames: sum(nothing) = 0, and each frame is
 * added by arena_sum(). Hence sum(a then b) = sum(a) * ARENA_FACTOR ^ (frames of b) + sum(b).
 */
uint32_t arena_stack_of_sum(const uint64_t *frames, uint32_t nr, uint8_t end, uint64_t sum);
#define ARENA_FACTOR 0x9e3779b97f4a7c15ull

/* A hash that spreads well; it need not be secret. */
static inline uint64_t arena_mix(uint64_t word)
{
	unsigned __int128 p = (unsigned __int128)word * 0xd6e8feb86659fd93ull;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t arena_sum(uint64_t sum, uint64_t frame)
{
	return sum * ARENA_FACTOR + arena_mix(frame);
}

/* The text of a string whose id arena_string() returned. */
const char *arena_text(uint32_t string);

#endif
