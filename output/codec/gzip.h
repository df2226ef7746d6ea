/*
 * gzip (RFC 1952) from and to memory.
 */
#ifndef SPROF_GZIP_H
#define SPROF_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

bool gzip_is(const void *data, size_t size);

/* Appends the compressed bytes. No time and no name are in them: equal input, equal output. */
void gzip_compress(struct buffer *b, const void *data, size_t size);

/*
 * Appends what the gzip members in `data` hold, at most `limit` bytes. 0, -EINVAL where they are
 * damaged or cut off, -EFBIG beyond the limit.
 */
int gzip_expand(struct buffer *b, const void *data, size_t size, size_t limit);

#endif
