/*
 * Looks at several bytes of a text at once, without a branch for each. The callers see to it that
 * all bytes that are read exist.
 */
#ifndef SPROF_TEXT_SCAN_H
#define SPROF_TEXT_SCAN_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The 8 bytes at s, the first one lowest. */
static inline uint64_t text_scan_word(const char *s)
{
	uint64_t word;

	memcpy(&word, s, sizeof(word));
	return le64toh(word);
}

/* The length of the common prefix of two strings of n bytes. */
static inline size_t text_scan_common(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t differences = text_scan_word(a + i) ^ text_scan_word(b + i);

		if (differences)
			return i + (size_t)(__builtin_ctzll(differences) / 8);
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* Bit i tells whether byte i of 64 bytes is c. */
static inline uint64_t text_scan_find(const char *s, char c)
{
#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi8(c);
	uint64_t bits = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < 64; i += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(s + i));

		bits |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)) << i;
	}
	return bits;
#else
	const uint64_t ones = UINT64_C(0x0101010101010101), low = 0x7f * ones;
	uint64_t bits = 0;

	for (unsigned i = 0; i < 64; i += 8) {
		uint64_t x = text_scan_word(s + i) ^ ((uint8_t)c * ones);
		/* 1 in each byte of x that is 0: adding does not carry into the next byte. */
		uint64_t found = ~(((x & low) + low) | x | low) >> 7;

		/* Moves the lowest bit of byte i to bit 56 + i. */
		bits |= (found * UINT64_C(0x0102040810204080)) >> 56 << i;
	}
	return bits;
#endif
}

#endif
