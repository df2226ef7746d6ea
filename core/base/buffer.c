/*
 * All growth goes through buffer_reserve(), which doubles the capacity, so that adding a byte takes
 * constant time on average. Numbers are written straight into the reserved room.
 */
#include "core/base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/varint.h"

void buffer_fini(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ 0 };
}

char *buffer_reserve(struct buffer *b, size_t size)
{
	if (b->capacity - b->size < size)
		b->data = xgrow(b->data, &b->capacity, b->size + size, 1);
	return b->data + b->size;
}

void buffer_add(struct buffer *b, const void *data, size_t size)
{
	if (!size)
		return;
	memcpy(buffer_reserve(b, size), data, size);
	b->size += size;
}

void buffer_add_char(struct buffer *b, char c)
{
	*buffer_reserve(b, 1) = c;
	b->size++;
}

void buffer_add_string(struct buffer *b, const char *s)
{
	buffer_add(b, s, strlen(s));
}

void buffer_add_u64(struct buffer *b, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = '0' + value % 10;
		value /= 10;
	} while (value);
	buffer_add(b, digits + at, sizeof(digits) - at);
}

void buffer_add_varint(struct buffer *b, uint64_t value)
{
	b->size += varint_encode((uint8_t *)buffer_reserve(b, VARINT_MAX), value);
}

void buffer_add_zigzag(struct buffer *b, int64_t value)
{
	buffer_add_varint(b, zigzag_encode(value));
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	assert(n >= 0);
	vsnprintf(buffer_reserve(b, (size_t)n + 1), (size_t)n + 1, format, again);
	b->size += (size_t)n;
	va_end(again);
	va_end(args);
}

int buffer_add_file(struct buffer *b, FILE *f, size_t limit)
{
	const size_t piece = (size_t)256 * 1024, start = b->size;
	size_t got;

	do {
		if (b->size - start > limit)
			return -EFBIG;
		got = fread(buffer_reserve(b, piece), 1, piece, f);
		b->size += got;
	} while (got);
	return ferror(f) ? -EIO : 0;
}

const char *buffer_cstring(struct buffer *b)
{
	*buffer_reserve(b, 1) = '\0';
	return b->data;
}
