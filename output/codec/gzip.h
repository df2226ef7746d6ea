/* Compresses and expands gzip (RFC 1952) in memory, through zlib. */
#ifndef SPROF_GZIP_H
#define SPROF_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Do the bytes begin like a gzip file? */
bool gzip_is(const void *data, size_t size);

/*
 * Appends the compressed bytes. They hold no time and no name, so equal input gives equal output.
 */
void gzip_compress(struct buffer *b, const void *data, size_t size);

/*
 * Appends the content of all gzip members in `data`. 0, or, not reported, -EINVAL if they are
 * damaged or cut off, -EFBIG if the buffer would exceed `limit` bytes.
 */
int gzip_expand(struct buffer *b, const void *data, size_t size, size_t limit);

#endif
