/*
 * Writes and reads fields: a varint tag, number << 3 | wire type, then a value in the form that the
 * wire type says. What is read is untrusted; the cursor checks each length.
 */
#include "output/codec/protobuf.h"

#include <errno.h>
#include <string.h>

#include "core/base/buffer.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static void add_tag(struct buffer *b, uint32_t field, enum wire_type type)
{
	buffer_add_varint(b, (uint64_t)field << 3 | type);
}

void protobuf_add_number(struct buffer *b, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	add_tag(b, field, WIRE_VARINT);
	buffer_add_varint(b, value);
}

void protobuf_add_bytes(struct buffer *b, uint32_t field, const void *data, size_t size)
{
	add_tag(b, field, WIRE_BYTES);
	buffer_add_varint(b, size);
	buffer_add(b, data, size);
}

void protobuf_add_strings(struct buffer *b, uint32_t field, char *const *strings, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		protobuf_add_bytes(b, field, strings[i], strlen(strings[i]));
}

void protobuf_add_message(struct buffer *b, uint32_t field, struct buffer *message)
{
	protobuf_add_bytes(b, field, message->data, message->size);
	message->size = 0;
}

static bool get_fixed(struct cursor *at, size_t size, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (cursor_left(at) < size)
		return false;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)at->at[i] << (8 * i);
	at->at += size;
	*ret_value = value;
	return true;
}

static bool get_value(struct cursor *at, enum wire_type type, struct protobuf_field *f)
{
	f->is_bytes = type == WIRE_BYTES;
	switch (type) {
	case WIRE_VARINT: return cursor_get(at, &f->value);
	case WIRE_FIXED64: return get_fixed(at, 8, &f->value);
	case WIRE_FIXED32: return get_fixed(at, 4, &f->value);
	case WIRE_BYTES: return cursor_get_bytes(at, SIZE_MAX, &f->bytes);
	}
	return false; /* groups are obsolete since 2008 */
}

int protobuf_next(struct cursor *at, struct protobuf_field *ret_field)
{
	struct protobuf_field f = { 0 };
	uint64_t tag;

	if (!cursor_left(at))
		return 0;
	if (!cursor_get(at, &tag) || tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1)
		return -EINVAL;
	f.number = (uint32_t)(tag >> 3);
	if (!get_value(at, (enum wire_type)(tag & 7), &f))
		return -EINVAL;
	*ret_field = f;
	return 1;
}
