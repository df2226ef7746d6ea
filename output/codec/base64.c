/* Encodes three bytes as four characters; a last group of one or two bytes is padded with '='. */
#include "output/codec/base64.h"

#include <stdint.h>

#include "core/base/buffer.h"

void base64_add(struct buffer *b, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *data = bytes;
	char *out = buffer_reserve(b, (size + 2) / 3 * 4), *at = out;

	for (size_t i = 0; i < size; i += 3) {
		uint32_t n = (uint32_t)data[i] << 16;

		n |= i + 1 < size ? (uint32_t)data[i + 1] << 8 : 0;
		n |= i + 2 < size ? data[i + 2] : 0;
		*at++ = digits[n >> 18];
		*at++ = digits[n >> 12 & 63];
		*at++ = i + 1 < size ? digits[n >> 6 & 63] : '=';
		*at++ = i + 2 < size ? digits[n & 63] : '=';
	}
	b->size += (size_t)(at - out);
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct buffer *b, const char *text, size_t size)
{
	uint32_t bits = 0;

	if (size && size % 4 == 0) {
		size -= text[size - 1] == '=';
		size -= text[size - 1] == '=';
	}
	if (size % 4 == 1)
		return false;
	for (size_t i = 0; i < size; i++) {
		int value = digit_value(text[i]);

		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		if (i % 4)
			buffer_add_char(b, (char)(bits >> (6 - 2 * (i % 4))));
	}
	return true;
}
