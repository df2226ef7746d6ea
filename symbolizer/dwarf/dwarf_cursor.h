/*
 * Reads DWARF's numbers from a bounded stretch of bytes. Reading past the end gives zeros and sets
 * `bad`: loops check it once per turn, and nothing is read outside.
 */
#ifndef SPROF_DWARF_CURSOR_H
#define SPROF_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dwarf_cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* From offset `at` of a section; beyond its end the cursor is bad at once. */
static inline struct dwarf_cursor cursor_at(const uint8_t *data, uint64_t size, uint64_t at)
{
	if (!data || at > size)
		return (struct dwarf_cursor){ .bad = true };
	return (struct dwarf_cursor){ .at = data + at, .end = data + size };
}

static inline uint64_t cursor_left(const struct dwarf_cursor *c)
{
	return (uint64_t)(c->end - c->at);
}

static inline bool cursor_has(struct dwarf_cursor *c, uint64_t size)
{
	if (__builtin_expect(cursor_left(c) >= size, 1))
		return true;
	c->bad = true;
	c->at = c->end;
	return false;
}

static inline void cursor_skip(struct dwarf_cursor *c, uint64_t size)
{
	if (cursor_has(c, size))
		c->at += size;
}

/* A little-endian number of 1 to 8 bytes. */
static inline uint64_t cursor_fixed(struct dwarf_cursor *c, size_t size)
{
	uint64_t value = 0;

	if (!cursor_has(c, size))
		return 0;
	memcpy(&value, c->at, size);
	c->at += size;
	return value;
}

static inline uint8_t cursor_u8(struct dwarf_cursor *c)
{
	return cursor_has(c, 1) ? *c->at++ : 0;
}

static inline uint16_t cursor_u16(struct dwarf_cursor *c)
{
	return (uint16_t)cursor_fixed(c, 2);
}

static inline uint32_t cursor_u32(struct dwarf_cursor *c)
{
	return (uint32_t)cursor_fixed(c, 4);
}

static inline uint64_t cursor_u64(struct dwarf_cursor *c)
{
	return cursor_fixed(c, 8);
}

static inline uint64_t cursor_uleb(struct dwarf_cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	if (__builtin_expect(cursor_left(c) && *c->at < 0x80, 1)) /* nearly always */
		return *c->at++;
	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline int64_t cursor_sleb(struct dwarf_cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
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

/* A string inside the stretch, without a copy; NULL where no NUL ends it. */
static inline const char *cursor_string(struct dwarf_cursor *c)
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

#endif
