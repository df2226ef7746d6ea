/*
 * A cursor over untrusted bytes. No function reads past the end: a read that would sets `bad`,
 * moves the cursor to the end and gives 0, so that a parser reads a whole record and then asks
 * once. Fixed numbers are little-endian, as everything that sprof reads is.
 *
 * The cursor_get functions read sprof's own format and protobuf, where a number that is too long is
 * an error. They return false instead of setting `bad`, and leave the cursor where it was.
 */
#ifndef SPROF_CURSOR_H
#define SPROF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/varint.h"

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* Starts at offset `at` of `size` bytes; bad at once where that lies outside. */
static inline struct cursor cursor_at(const uint8_t *data, uint64_t size, uint64_t at)
{
	if (!data || at > size)
		return (struct cursor){ .bad = true };
	return (struct cursor){ .at = data + at, .end = data + size };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline bool cursor_has(struct cursor *c, uint64_t size)
{
	if (__builtin_expect(cursor_left(c) >= size, 1))
		return true;
	c->bad = true;
	c->at = c->end;
	return false;
}

/* Returns the next `size` bytes and moves past them; NULL where there are fewer. */
static inline const uint8_t *cursor_take(struct cursor *c, uint64_t size)
{
	const uint8_t *at = c->at;

	if (!cursor_has(c, size))
		return NULL;
	c->at += size;
	return at;
}

static inline void cursor_skip(struct cursor *c, uint64_t size)
{
	cursor_take(c, size);
}

/* An unsigned number of 1 to 8 bytes. */
static inline uint64_t cursor_fixed(struct cursor *c, size_t size)
{
	const uint8_t *at = cursor_take(c, size);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, size);
	return value;
}

/* A signed number of 2, 4 or 8 bytes. */
static inline int64_t cursor_signed(struct cursor *c, size_t size)
{
	uint64_t value = cursor_fixed(c, size);

	return size == 2 ? (int16_t)value : size == 4 ? (int32_t)value : (int64_t)value;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	return cursor_has(c, 1) ? *c->at++ : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)cursor_fixed(c, 2);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)cursor_fixed(c, 4);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	return cursor_fixed(c, 8);
}

/* LEB128: seven bits a byte. Bits beyond 64 are dropped, as DWARF allows padding. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	if (__builtin_expect(cursor_left(c) && *c->at < 0x80, 1)) /* nearly every number */
		return *c->at++;
	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (byte & 0x40 && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

/* A string within the bytes, not copied; NULL where no NUL ends it. */
static inline const char *cursor_string(struct cursor *c)
{
	const uint8_t *start = c->at;
	const uint8_t *nul = c->bad ? NULL : memchr(start, 0, cursor_left(c));

	if (!nul) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	c->at = nul + 1;
	return (const char *)start;
}

static inline bool cursor_get(struct cursor *c, uint64_t *ret_value)
{
	const uint8_t *at = c->at;

	/* Nearly all numbers of a recording have one or two bytes. */
	if (__builtin_expect(cursor_left(c) >= 2, 1)) {
		if (at[0] < 0x80) {
			*ret_value = at[0];
			c->at = at + 1;
			return true;
		}
		if (at[1] && at[1] < 0x80) {
			*ret_value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
			c->at = at + 2;
			return true;
		}
	}
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

/* Takes a size, at most `limit`, and as many bytes. */
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
