/*
 * Checks and repairs strings; text_decode() decides what is UTF-8. Names are ASCII nearly always,
 * so bytes below 0x80 skip it.
 */
#include "output/codec/utf8.h"

#include "core/base/buffer.h"
#include "core/base/clean_text.h"

/* The length of the character at s, 0 if it is not one. */
static size_t character(const char *s, size_t n)
{
	size_t length;

	if ((signed char)*s > 0)
		return 1;
	return *s && text_decode(s, n, &length) != UINT32_MAX ? length : 0;
}

bool utf8_is_valid(const char *s, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		length = character(s + i, n - i);
		if (!length)
			return false;
	}
	return true;
}

void utf8_add_repaired(struct buffer *b, const char *s, size_t n)
{
	for (size_t i = 0, length; i < n; i += length ? length : 1) {
		length = character(s + i, n - i);
		if (length)
			buffer_add(b, s + i, length);
		else
			buffer_add_string(b, TEXT_REPLACEMENT);
	}
}
