/*
 * A growing string of bytes. Every writer builds its output here and writes the file in one go: a
 * full disk is noticed in one place, and equal input gives equal bytes.
 */
#ifndef SPROF_BUFFER_H
#define SPROF_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buffer {
	char *data; /* not NUL-terminated, see buffer_cstring() */
	size_t size, capacity;
};

void buffer_fini(struct buffer *b);

/* Room for `size` more bytes at the end; the caller writes them and adds to b->size. */
char *buffer_reserve(struct buffer *b, size_t size);
void buffer_add(struct buffer *b, const void *data, size_t size);
void buffer_add_char(struct buffer *b, char c);
void buffer_add_string(struct buffer *b, const char *s);
void buffer_add_u64(struct buffer *b, uint64_t value);	  /* decimal */
void buffer_add_varint(struct buffer *b, uint64_t value); /* core/base/varint.h */
void buffer_add_zigzag(struct buffer *b, int64_t value);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Appends the rest of the file, at most `limit` bytes. 0 or -errno, not reported; -EFBIG beyond the
 * limit. What was read before an error stays in the buffer.
 */
int buffer_add_file(struct buffer *b, FILE *f, size_t limit);

/* The bytes as a C string, good until the next change; "" when empty. */
const char *buffer_cstring(struct buffer *b);

#endif
