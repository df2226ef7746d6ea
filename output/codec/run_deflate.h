/*
 * Deflate (RFC 1951) for bytes that repeat one another but hold no longer repetitions: numbers of
 * one kind. It looks for runs of one byte and for nothing else, and so takes a part of zlib's time.
 */
#ifndef SPROF_RUN_DEFLATE_H
#define SPROF_RUN_DEFLATE_H

#include <stddef.h>

struct buffer;

/*
 * Appends blocks of a raw deflate stream that expand to the bytes. The last one is not marked as
 * the final block of the stream, and ends at a byte boundary, so others may follow.
 */
void run_deflate_add(struct buffer *b, const void *data, size_t size);

/* Appends the final block of a stream, which is empty. */
void run_deflate_end(struct buffer *b);

#endif
