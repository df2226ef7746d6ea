/*
 * Decodes ProcessContext { Resource { repeated KeyValue { string, AnyValue } } } of OpenTelemetry.
 * Text and numbers are taken; lists, maps and bytes have no form in OTEL_RESOURCE_ATTRIBUTES.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cursor.h"
#include "core/untrusted/process_context.h"

#define KEY_MAX 128	 /* bytes */
#define VALUE_MAX 1024	 /* bytes */
#define SERVICE_MAX 1024 /* bytes */

/* opentelemetry/proto/processcontext, resource and common */
enum { CONTEXT_RESOURCE = 1 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_BOOL = 2, ANY_INT = 3, ANY_DOUBLE = 4 };

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct field {
	uint64_t number;
	enum wire_type type;
	uint64_t value;
	struct cursor bytes;
};

/* Returns false at the end, or if the bytes are no message: `bad` is set then. */
static bool next(struct cursor *at, struct field *f)
{
	uint64_t tag = 0;
	bool ok;

	if (!cursor_left(at))
		return false;
	ok = cursor_get(at, &tag) && tag >> 3;
	f->number = tag >> 3;
	f->type = (enum wire_type)(tag & 7);
	if (ok && f->type == WIRE_VARINT)
		ok = cursor_get(at, &f->value);
	else if (ok && f->type == WIRE_BYTES)
		ok = cursor_get_bytes(at, SIZE_MAX, &f->bytes);
	else if (ok && (f->type == WIRE_FIXED64 || f->type == WIRE_FIXED32))
		f->value = cursor_fixed(at, f->type == WIRE_FIXED64 ? 8 : 4);
	else
		ok = false;
	at->bad |= !ok;
	return !at->bad;
}

static void add_encoded(struct buffer *b, const uint8_t *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (isalnum(text[i]) || (text[i] && strchr("-._~/:@+ ", text[i])))
			buffer_add_char(b, (char)text[i]);
		else
			buffer_printf(b, "%%%02X", text[i]);
}

/* Appends a value. Returns false if it is empty, or neither text nor a number. */
static bool add_value(struct buffer *b, struct cursor any)
{
	bool found = false;
	struct field f;

	while (next(&any, &f)) {
		double real;

		found = true;
		if (f.number == ANY_STRING && f.type == WIRE_BYTES && cursor_left(&f.bytes)) {
			size_t size = cursor_left(&f.bytes);

			add_encoded(b, f.bytes.at, size < VALUE_MAX ? size : VALUE_MAX);
		} else if (f.number == ANY_BOOL && f.type == WIRE_VARINT) {
			buffer_add_string(b, f.value ? "true" : "false");
		} else if (f.number == ANY_INT && f.type == WIRE_VARINT) {
			buffer_printf(b, "%" PRId64, (int64_t)f.value);
		} else if (f.number == ANY_DOUBLE && f.type == WIRE_FIXED64) {
			memcpy(&real, &f.value, sizeof(real));
			buffer_printf(b, "%.17g", real);
		} else {
			found = false;
		}
		if (found)
			break; /* a value has one kind, so the first one ends the search */
	}
	return found && !any.bad;
}

/* Takes the service's name; "unknown_service" and "unknown_service:java" of SDKs mean none. */
static void take_service(struct context_resource *r, struct cursor any)
{
	static const char unknown[] = "unknown_service";
	struct field f;

	while (next(&any, &f)) {
		size_t size = f.type == WIRE_BYTES ? cursor_left(&f.bytes) : 0;

		if (f.number != ANY_STRING || !size ||
		    (size >= sizeof(unknown) - 1 &&
		     !memcmp(f.bytes.at, unknown, sizeof(unknown) - 1)))
			continue;
		free(r->service);
		r->service =
			strndup((const char *)f.bytes.at, size < SERVICE_MAX ? size : SERVICE_MAX);
	}
}

static bool key_is_plain(const struct cursor *key)
{
	size_t size = cursor_left(key);

	for (size_t i = 0; i < size; i++)
		if (!isalnum(key->at[i]) && (!key->at[i] || !strchr("_.-", key->at[i])))
			return false;
	return size && size <= KEY_MAX;
}

/* Appends "key=value" if there is room for it. */
static void add_pair(struct context_resource *r, struct cursor key, struct cursor value, size_t max)
{
	struct buffer *b = &r->attributes;
	size_t before = b->size;
	bool ok = key_is_plain(&key);

	if (ok) {
		buffer_printf(b, "%s%.*s=", b->size ? "," : "", (int)cursor_left(&key), key.at);
		ok = add_value(b, value) && b->size <= max;
	}
	if (!ok) {
		b->size = before;
		r->nr_left_out++;
	}
}

static bool take_attribute(struct context_resource *r, struct cursor pair, size_t max)
{
	static const char service[] = "service.name";
	struct cursor key = { 0 }, value = { 0 };
	struct field f;

	while (next(&pair, &f)) {
		if (f.type != WIRE_BYTES)
			continue;
		if (f.number == KEY_VALUE_KEY)
			key = f.bytes;
		else if (f.number == KEY_VALUE_VALUE)
			value = f.bytes;
	}
	if (pair.bad)
		return false;
	if (cursor_left(&key) == sizeof(service) - 1 &&
	    !memcmp(key.at, service, sizeof(service) - 1))
		take_service(r, value);
	else
		add_pair(r, key, value, max);
	return true;
}

static bool take_resource(struct context_resource *r, struct cursor resource, size_t max)
{
	struct field f;

	while (next(&resource, &f))
		if (f.number == RESOURCE_ATTRIBUTES && f.type == WIRE_BYTES &&
		    !take_attribute(r, f.bytes, max))
			return false;
	return !resource.bad;
}

bool context_resource_parse(const void *payload, size_t size, size_t max,
			    struct context_resource *ret)
{
	struct cursor at = cursor_at(size ? payload : "", size, 0);
	struct context_resource r = { 0 };
	bool ok = true;
	struct field f;

	while (ok && next(&at, &f))
		if (f.number == CONTEXT_RESOURCE && f.type == WIRE_BYTES)
			ok = take_resource(&r, f.bytes, max);
	if (!ok || at.bad) {
		context_resource_fini(&r);
		return false;
	}
	*ret = r;
	return true;
}

void context_resource_fini(struct context_resource *r)
{
	free(r->service);
	buffer_fini(&r->attributes);
	*r = (struct context_resource){ 0 };
}
