/* Base64 (RFC 4648, section 4), with padding. No library that sprof links has it. */
#ifndef SPROF_BASE64_H
#define SPROF_BASE64_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Appends the encoded bytes. */
void base64_add(struct buffer *b, const void *data, size_t size);

/* Appends the decoded bytes of text whose padding may be missing. false: it is no base64. */
bool base64_decode(struct buffer *b, const char *text, size_t size);

#endif
