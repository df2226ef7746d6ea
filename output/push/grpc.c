/*
 * Reads trailers, which are text; one of them is a google.rpc.Status in base64, which may ask for a
 * pause.
 */
#include "output/push/grpc.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/cursor.h"
#include "output/codec/base64.h"
#include "output/codec/protobuf.h"
#include "output/push/percent.h"

#define HEAD_SIZE 5	  /* a flag and a size of four bytes */
#define MESSAGE_KEPT 4096 /* bytes of a reason */
#define PAUSE_MAX_S 86400

/* google/rpc/status.proto, error_details.proto, protobuf/any.proto, protobuf/duration.proto */
enum { STATUS_DETAILS = 3 };
enum { ANY_TYPE_URL = 1, ANY_VALUE = 2 };
enum { RETRY_INFO_DELAY = 1 };
enum { DURATION_SECONDS = 1, DURATION_NANOS = 2 };

const char *grpc_status_name(int status)
{
	static const char *const names[GRPC_STATUS_END] = {
		[GRPC_OK] = "OK",
		[GRPC_CANCELLED] = "CANCELLED",
		[GRPC_UNKNOWN] = "UNKNOWN",
		[GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
		[GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
		[GRPC_NOT_FOUND] = "NOT_FOUND",
		[GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
		[GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
		[GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
		[GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
		[GRPC_ABORTED] = "ABORTED",
		[GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
		[GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
		[GRPC_INTERNAL] = "INTERNAL",
		[GRPC_UNAVAILABLE] = "UNAVAILABLE",
		[GRPC_DATA_LOSS] = "DATA_LOSS",
		[GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
	};

	return status >= 0 && status < GRPC_STATUS_END ? names[status] : "an unknown status";
}

/* The value of a header of that name, without the spaces around it; NULL: it is another one. */
static const char *value_of(const char *line, size_t size, const char *name, size_t *ret_size)
{
	size_t at = strlen(name);

	if (size <= at || strncasecmp(line, name, at) || line[at] != ':')
		return NULL;
	for (at++; at < size && strchr(" \t", line[at]) && line[at];)
		at++;
	while (size > at && isspace((unsigned char)line[size - 1]))
		size--;
	*ret_size = size - at;
	return line + at;
}

/* Anything but a known status is GRPC_STATUS_END, which has the name "an unknown status". */
static int parse_status(const char *value, size_t size)
{
	int status = 0;

	for (size_t i = 0; i < size; i++) {
		if (!isdigit((unsigned char)value[i]) || status >= GRPC_STATUS_END)
			return GRPC_STATUS_END;
		status = status * 10 + (value[i] - '0');
	}
	return size && status < GRPC_STATUS_END ? status : GRPC_STATUS_END;
}

/* The pause in whole seconds, rounded up, and at least one. */
static uint32_t pause_of(struct cursor retry_info)
{
	uint64_t seconds = 0, nanos = 0;
	struct protobuf_field f, part;

	while (protobuf_next(&retry_info, &f) > 0) {
		if (f.number != RETRY_INFO_DELAY || !f.is_bytes)
			continue;
		while (protobuf_next(&f.bytes, &part) > 0) {
			if (part.number == DURATION_SECONDS && !part.is_bytes)
				seconds = part.value;
			if (part.number == DURATION_NANOS && !part.is_bytes)
				nanos = part.value;
		}
	}
	if (seconds > PAUSE_MAX_S) /* a negative one is a large one here */
		return (int64_t)seconds < 0 ? 1 : PAUSE_MAX_S;
	return (uint32_t)(seconds + (nanos || !seconds));
}

static bool ends_with(const struct cursor *text, const char *end)
{
	size_t n = strlen(end);

	return cursor_left(text) >= n && !memcmp(text->end - n, end, n);
}

static uint32_t pause_of_details(struct cursor status)
{
	struct protobuf_field f, part;
	uint32_t pause = 0;

	while (protobuf_next(&status, &f) > 0) {
		bool is_retry_info = false;

		if (f.number != STATUS_DETAILS || !f.is_bytes)
			continue;
		while (protobuf_next(&f.bytes, &part) > 0) {
			if (part.number == ANY_TYPE_URL && part.is_bytes)
				is_retry_info = ends_with(&part.bytes, "/google.rpc.RetryInfo");
			if (part.number == ANY_VALUE && part.is_bytes && is_retry_info)
				pause = pause_of(part.bytes);
		}
	}
	return pause;
}

static void take_details(struct grpc_trailers *t, const char *value, size_t size)
{
	struct buffer details = { 0 };

	if (base64_decode(&details, value, size))
		t->retry_after_s =
			pause_of_details(cursor_at((const uint8_t *)details.data, details.size, 0));
	buffer_fini(&details);
}

void grpc_take_header(struct grpc_trailers *t, const char *line, size_t line_size)
{
	const char *value;
	size_t size;

	if ((value = value_of(line, line_size, "grpc-status", &size)))
		t->status = parse_status(value, size);
	else if ((value = value_of(line, line_size, "grpc-message", &size))) {
		t->message.size = 0;
		percent_decode(&t->message, value, size, MESSAGE_KEPT);
	} else if ((value = value_of(line, line_size, "grpc-status-details-bin", &size)))
		take_details(t, value, size);
}

void grpc_add_message(struct buffer *b, const void *message, size_t size)
{
	const uint8_t head[HEAD_SIZE] = { 1, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
					  (uint8_t)(size >> 8), (uint8_t)size };

	buffer_add(b, head, sizeof(head));
	buffer_add(b, message, size);
}

void grpc_unwrap(struct buffer *answer)
{
	struct cursor at = cursor_at((const uint8_t *)answer->data, answer->size, 0);
	bool compressed = cursor_u8(&at);
	size_t size = 0;

	for (int i = 0; i < 4; i++)
		size = size << 8 | cursor_u8(&at);
	if (at.bad || compressed) {
		answer->size = 0;
		return;
	}
	answer->size = size < cursor_left(&at) ? size : cursor_left(&at);
	memmove(answer->data, at.at, answer->size);
}
