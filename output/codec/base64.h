/*
 * Base64 (RFC 4648, section 4), with padding. No library that sprof links has it.
 */
#ifndef SPROF_BASE64_H
#define SPROF_BASE64_H

#include <stddef.h>

struct buffer;

/* Appends the encoded bytes. */
void base64_add(struct buffer *b, const void *data, size_t size);

#endif
