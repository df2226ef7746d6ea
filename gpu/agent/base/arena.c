/*
 * One open-addressing table per arena, of words `hash << 32 | id`; 0 is a free slot. A thread
 * writes the entry into the arena first and then claims a slot with the word. A thread that loses
 * the race for a slot looks at the winner's entry; if the content is equal, its own entry stays
 * behind as a hole.
 */
#include "gpu/agent/base/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "gpu/agent/base/state.h"

#define STRING_SLOTS (1u << 16)
#define STACK_SLOTS (1u << 17)
#define MAX_PROBES 128u
#define MAX_WIDE 1024 /* bytes of a wide string as UTF-8 */

struct key {
	const void *bytes;
	uint32_t size; /* bytes of content */
	uint32_t hash;
	uint8_t end;
};

static uint64_t *string_slots, *stack_slots;

int arena_init(void)
{
	string_slots = agent_map(STRING_SLOTS * sizeof(*string_slots));
	stack_slots = agent_map(STACK_SLOTS * sizeof(*stack_slots));
	return string_slots && stack_slots ? 0 : -ENOMEM;
}

static uint32_t hash_bytes(const char *bytes, size_t size)
{
	uint64_t hash = size + 1, word;

	for (; size >= 8; size -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		hash = arena_mix(hash ^ word);
	}
	word = 0;
	for (size_t i = 0; i < size; i++)
		word |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
	hash = arena_mix(hash ^ word);
	return (uint32_t)(hash ^ hash >> 32);
}

/* Four frames at a time, so that their multiplications do not wait for each other. */
static uint64_t sum_of(const uint64_t *frames, uint32_t nr)
{
	const uint64_t two = ARENA_FACTOR * ARENA_FACTOR, three = two * ARENA_FACTOR;
	uint64_t sum = 0;
	uint32_t i = 0;

	for (; i + 3 < nr; i += 4)
		sum = sum * (two * two) + arena_mix(frames[i]) * three +
		      arena_mix(frames[i + 1]) * two + arena_mix(frames[i + 2]) * ARENA_FACTOR +
		      arena_mix(frames[i + 3]);
	for (; i < nr; i++)
		sum = arena_sum(sum, frames[i]);
	return sum;
}

/* Reserves bytes (a multiple of 8) and returns their offset; 0 where the arena is full. */
static uint64_t reserve(struct gpu_area *area, uint64_t bytes)
{
	uint64_t at = __atomic_load_n(&area->used, __ATOMIC_RELAXED);

	do
		if (area->size - at < bytes)
			return 0;
	while (!__atomic_compare_exchange_n(&area->used, &at, at + bytes, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return at;
}

static bool same_string(uint32_t id, const struct key *key)
{
	const struct gpu_string *s =
		(void *)((char *)agent_area(&agent.region->strings) + 8ull * id);

	return s->length == key->size && !memcmp(s->bytes, key->bytes, key->size);
}

static bool same_stack(uint32_t id, const struct key *key)
{
	const struct gpu_stack *s = (void *)((char *)agent_area(&agent.region->stacks) + 8ull * id);

	return s->nr * 8u == key->size && s->end == key->end &&
	       !memcmp(s->frames, key->bytes, key->size);
}

static uint32_t new_string(const struct key *key)
{
	struct gpu_area *area = &agent.region->strings;
	uint64_t at = reserve(area, (sizeof(struct gpu_string) + key->size + 8) & ~7ull);
	struct gpu_string *s = (void *)((char *)agent_area(area) + at);

	if (!at)
		return 0;
	s->length = key->size;
	s->hash = key->hash;
	memcpy(s->bytes, key->bytes, key->size); /* the NUL is there: the arena is zeroed */
	return (uint32_t)(at / 8);
}

static uint32_t new_stack(const struct key *key)
{
	struct gpu_area *area = &agent.region->stacks;
	uint64_t at = reserve(area, sizeof(struct gpu_stack) + key->size);
	struct gpu_stack *s = (void *)((char *)agent_area(area) + at);

	if (!at)
		return 0;
	s->hash = key->hash;
	s->nr = (uint16_t)(key->size / 8);
	s->end = key->end;
	memcpy(s->frames, key->bytes, key->size);
	return (uint32_t)(at / 8);
}

static inline __attribute__((always_inline)) uint32_t
find_or_add(uint64_t *slots, uint32_t mask, const struct key *key,
	    bool (*same)(uint32_t, const struct key *), uint32_t (*add)(const struct key *))
{
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < MAX_PROBES; i++) {
		uint64_t *slot = &slots[(key->hash + i) & mask];
		uint64_t word = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!word) {
			uint64_t mine;

			if (!fresh)
				fresh = add(key);
			if (!fresh)
				return 0;
			mine = (uint64_t)key->hash << 32 | fresh;
			if (__atomic_compare_exchange_n(slot, &word, mine, false, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return fresh;
		}
		if (word >> 32 == key->hash && same((uint32_t)word, key))
			return (uint32_t)word;
	}
	return 0;
}

uint32_t arena_string(const char *bytes, size_t length)
{
	struct key key = { .bytes = bytes };
	uint32_t id;

	if (length >= GPU_MAX_STRING)
		length = GPU_MAX_STRING - 1;
	if (!length)
		return 0;
	key.size = (uint32_t)length;
	key.hash = hash_bytes(bytes, length);
	id = find_or_add(string_slots, STRING_SLOTS - 1, &key, same_string, new_string);
	if (!id)
		agent_count(GPU_COUNT_STRING_ARENA_FULL, 1);
	return id;
}

void arena_inherit(const struct gpu_region *parent)
{
	const struct gpu_area *from = &parent->strings;
	uint64_t used = __atomic_load_n(&from->used, __ATOMIC_ACQUIRE);

	for (uint64_t at = 16; at + sizeof(struct gpu_string) < used && used <= from->size;) {
		const struct gpu_string *s =
			(const void *)((const char *)parent + from->offset + at);
		uint32_t length = s->length;

		if (length > GPU_MAX_STRING || at + sizeof(*s) + length >= used ||
		    arena_string(s->bytes, length) != at / 8)
			return;
		at += (sizeof(*s) + length + 8) & ~7ull;
	}
}

uint32_t arena_cstring(const char *s)
{
	return s ? arena_string(s, strlen(s)) : 0;
}

uint32_t arena_wide_string(const wchar_t *w)
{
	char text[MAX_WIDE];
	size_t n = 0;

	for (; w && *w && n + 4 < sizeof(text); w++) {
		uint32_t c = (uint32_t)*w;

		if (c < 0x80) {
			text[n++] = (char)c;
			continue;
		}
		if (c > 0x10ffff)
			c = 0xfffd;
		if (c >= 0x10000)
			text[n++] = (char)(0xf0 | c >> 18);
		if (c >= 0x800)
			text[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
		text[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
		text[n++] = (char)(0x80 | (c & 0x3f));
	}
	return arena_string(text, n);
}

uint32_t arena_stack(const uint64_t *frames, uint32_t nr, uint8_t end)
{
	return arena_stack_of_sum(frames, nr, end, sum_of(frames, nr));
}

uint32_t arena_stack_of_sum(const uint64_t *frames, uint32_t nr, uint8_t end, uint64_t sum)
{
	struct key key = { .bytes = frames, .size = nr * 8, .end = end };
	uint64_t hash = arena_mix(sum + nr);
	uint32_t id;

	if (!nr)
		return 0;
	key.hash = (uint32_t)(hash ^ hash >> 32) ^ end;
	id = find_or_add(stack_slots, STACK_SLOTS - 1, &key, same_stack, new_stack);
	if (!id)
		agent_count(GPU_COUNT_STACK_ARENA_FULL, 1);
	return id;
}

const char *arena_text(uint32_t string)
{
	return ((struct gpu_string *)((char *)agent_area(&agent.region->strings) + 8ull * string))
		->bytes;
}
