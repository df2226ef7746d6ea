/*
 * Base64 (RFC 4648, section 4), with padding.
 */
#ifndef SPROF_BASE64_H
#define SPROF_BASE64_H

#include <stddef.h>

struct buffer;

void base64_add(struct buffer *b, const void *data, size_t size);

#endif
