/*
 * The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding/), as much
 * of it as pprof needs: varints, bytes and packed varints are written; of what is read, fixed-size
 * numbers and groups are stepped over.
 */
#ifndef SPROF_PROTOBUF_H
#define SPROF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cursor.h"

struct buffer;

/* A number; 0 is what an absent field means, and is not written. */
void protobuf_add_number(struct buffer *b, uint32_t field, uint64_t value);
void protobuf_add_bytes(struct buffer *b, uint32_t field, const void *data, size_t size);
/* A message, or packed varints, built in a buffer of its own, which is empty afterwards. */
void protobuf_add_message(struct buffer *b, uint32_t field, struct buffer *message);

struct protobuf_field {
	uint32_t number;
	bool is_bytes;	     /* else a number */
	uint64_t value;	     /* a number */
	struct cursor bytes; /* a string, a message, packed numbers */
};

/*
 * The next field of the message at *at. 1, 0 at its end, -EINVAL where the bytes are no message.
 * Fields of fixed size come as numbers.
 */
int protobuf_next(struct cursor *at, struct protobuf_field *ret_field);

#endif
