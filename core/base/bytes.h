/*
 * A cursor over bytes that nobody vouches for. A read past the end gives 0 and sets `bad`, so that a
 * parser reads a whole record and asks once. Little-endian, as everything sprof unwinds is.
 */
#ifndef SPROF_BYTES_H
#define SPROF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *at, *end;
	bool bad;
};

static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->at);
}

/* The next `size` bytes, skipped; NULL and bad where there are fewer. */
static inline const uint8_t *bytes_take(struct bytes *b, uint64_t size)
{
	const uint8_t *at = b->at;

	if (size > bytes_left(b)) {
		b->bad = true;
		b->at = b->end;
		return NULL;
	}
	b->at += size;
	return at;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. */
static inline uint64_t bytes_unsigned(struct bytes *b, unsigned int size)
{
	const uint8_t *at = bytes_take(b, size);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, size);
	return value;
}

/* A signed number of 2, 4 or 8 bytes. */
static inline int64_t bytes_signed(struct bytes *b, unsigned int size)
{
	uint64_t value = bytes_unsigned(b, size);

	return size == 2 ? (int16_t)value : size == 4 ? (int32_t)value : (int64_t)value;
}

static inline uint8_t bytes_u8(struct bytes *b)
{
	if (b->at == b->end) {
		b->bad = true;
		return 0;
	}
	return *b->at++;
}

/* LEB128: seven bits a byte. Bits beyond 64 are dropped; the number is as long as the input at most. */
static inline uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline int64_t bytes_sleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return (int64_t)value;
}

#endif
