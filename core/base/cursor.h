/*
 * Reads varints from bytes that nobody vouches for. Every function is false where the bytes end too
 * early or the number is out of its range.
 */
#ifndef SPROF_CURSOR_H
#define SPROF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/varint.h"

struct cursor {
	const uint8_t *at, *end;
};

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline bool cursor_get(struct cursor *c, uint64_t *ret_value)
{
	return varint_decode(&c->at, c->end, ret_value);
}

static inline bool cursor_get_below(struct cursor *c, uint64_t limit, uint64_t *ret_value)
{
	return cursor_get(c, ret_value) && *ret_value < limit;
}

static inline bool cursor_get_u32(struct cursor *c, uint32_t *ret_value)
{
	uint64_t value;

	if (!cursor_get_below(c, 1ull << 32, &value))
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

/* Adds a zigzag coded difference to *value. */
static inline bool cursor_get_delta(struct cursor *c, uint64_t *value)
{
	uint64_t delta;

	if (!cursor_get(c, &delta))
		return false;
	*value += (uint64_t)zigzag_decode(delta);
	return true;
}

/* The bytes of something whose size comes first and is at most `limit`. */
static inline bool cursor_get_bytes(struct cursor *c, size_t limit, struct cursor *ret_bytes)
{
	uint64_t size;

	if (!cursor_get(c, &size) || size > limit || size > cursor_left(c))
		return false;
	*ret_bytes = (struct cursor){ .at = c->at, .end = c->at + size };
	c->at += size;
	return true;
}

#endif
