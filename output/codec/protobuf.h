/*
 * The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding/), as far
 * as pprof needs it: varints, bytes, messages and packed varints.
 */
#ifndef SPROF_PROTOBUF_H
#define SPROF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cursor.h"

struct buffer;

/* Appends a number. 0 is not written, as an absent field means 0. */
void protobuf_add_number(struct buffer *b, uint32_t field, uint64_t value);
/* Appends a string or other bytes. */
void protobuf_add_bytes(struct buffer *b, uint32_t field, const void *data, size_t size);
/* Appends strings, each as a field of its own. */
void protobuf_add_strings(struct buffer *b, uint32_t field, char *const *strings, size_t nr);
/* Appends a message or packed varints from its own buffer, and empties that. */
void protobuf_add_message(struct buffer *b, uint32_t field, struct buffer *message);

struct protobuf_field {
	uint32_t number;
	bool is_bytes;	     /* else a number */
	uint64_t value;	     /* a number */
	struct cursor bytes; /* a string, a message, packed numbers */
};

/*
 * Reads the next field of the message at *at. 1, or 0 at the end, or -EINVAL if the bytes are not a
 * message. Fields of fixed size are returned as numbers; groups are an error.
 */
int protobuf_next(struct cursor *at, struct protobuf_field *ret_field);

#endif
