/*
 * gRPC, as far as one call with one message each way needs it: five bytes before a message, and a
 * status with its reason in the trailers of the answer
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). What arrives is not trusted.
 */
#ifndef SPROF_GRPC_H
#define SPROF_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

/* https://github.com/grpc/grpc/blob/master/doc/statuscodes.md */
enum grpc_status {
	GRPC_NONE = -1, /* there is none */
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
	GRPC_STATUS_END
};

/* "UNAVAILABLE"; "an unknown status" for an undefined number. */
const char *grpc_status_name(int status);

/* What the headers and trailers of an answer say; { .status = GRPC_NONE } to begin with. */
struct grpc_trailers {
	int status;
	uint32_t retry_after_s; /* what google.rpc.RetryInfo asks for; 0: there is none */
	struct buffer message;	/* its first bytes, decoded; any bytes may be in it */
};

/* Takes a line "name: value", with or without its line end. Of two of one name the later counts. */
void grpc_take_header(struct grpc_trailers *trailers, const char *line, size_t size);

/* Appends a message with its five bytes. It must be compressed as the header grpc-encoding says. */
void grpc_add_message(struct buffer *b, const void *message, size_t size);

/*
 * Takes the five bytes off the beginning of an answer, and what follows its first message. An
 * answer that is compressed, which was not asked for, or that is no message becomes empty.
 */
void grpc_unwrap(struct buffer *answer);

#endif
