/*
 * Variable-length integers as in protobuf and LEB128: seven bits a byte, least significant first,
 * the high bit set on all but the last. Signed numbers are zigzag coded first: 0, -1, 1, -2, 2 ...
 */
#ifndef SPROF_VARINT_H
#define SPROF_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes of the longest number */

/* Writes at most VARINT_MAX bytes and returns the number of them. */
static inline size_t varint_encode(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

/*
 * Reads a number at *at and moves *at behind it. Returns false, and changes nothing, where the
 * number does not end before `end` or does not fit 64 bits.
 */
static inline bool varint_decode(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	const uint8_t *p = *at;
	uint64_t value = 0;

	for (int shift = 0; shift < 64 && p < end; shift += 7) {
		uint8_t byte = *p++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = p;
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static inline uint64_t zigzag_encode(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t zigzag_decode(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
