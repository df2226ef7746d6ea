/*
 * Reads any bytes as what comes from outside when a profile is pushed: a request from a spool or a
 * pipe, and the answers of a receiver of OTLP, over HTTP and gRPC.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "output/push/grpc.h"
#include "output/push/receiver.h"
#include "output/push/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const uint8_t *data, size_t size)
{
	struct buffer again = { 0 };
	struct push_request r, same;

	if (push_request_decode(data, size, &r))
		return;
	push_request_encode(&r, &again);
	if (push_request_decode(again.data, again.size, &same) || same.receiver != r.receiver ||
	    same.nr_samples != r.nr_samples || same.time_ns != r.time_ns ||
	    same.body.size != r.body.size ||
	    strcmp(same.query ? same.query : "", r.query ? r.query : ""))
		abort();
	if (r.query && (*r.query != '?' || strpbrk(r.query, " \r\n#")))
		abort();
	push_request_fini(&r);
	push_request_fini(&same);
	buffer_fini(&again);
}

/* Each line as a header, all of it as the body. */
static void check_grpc(const uint8_t *data, size_t size)
{
	struct grpc_trailers t = { .status = GRPC_NONE };
	struct buffer answer = { 0 };
	const char *at = (const char *)data, *end = at + size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline + 1 : end;

		grpc_take_header(&t, at, (size_t)(next - at));
		at = next;
	}
	if (t.status < GRPC_NONE || t.status > GRPC_STATUS_END || t.retry_after_s > 86400)
		abort();
	buffer_add(&answer, data, size);
	grpc_unwrap(&answer);
	if (size && answer.size > size - 1)
		abort();
	buffer_fini(&t.message);
	buffer_fini(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer text = { 0 };

	check_request(data, size);
	check_grpc(data, size);
	receiver_otlp.rejected(data, size, &text);
	receiver_otlp.reason(data, size, &text);
	if (text.size > 2 * size)
		abort();
	buffer_fini(&text);
	return 0;
}
