/*
 * OpenTelemetry Collectors and all else that takes OTLP, over HTTP or gRPC. A process is a
 * resource; a column of it is a Profile. Refusals are in protobuf, like the requests.
 */
#include "output/push/receiver.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/codec/gzip.h"
#include "output/codec/otlp_fields.h"
#include "output/codec/protobuf.h"
#include "output/export/otlp_writer.h"
#include "output/push/series.h"

/* 0 or -EMSGSIZE. */
static int make_body(const struct push_set *set, size_t max_bytes, struct buffer *body)
{
	struct otlp_resource *resources = xcalloc(set->nr_series, sizeof(*resources));
	struct otlp_attribute *attributes =
		xcalloc(set->nr_series * LABELS_MAX, sizeof(*attributes));
	struct buffer raw = { 0 };
	int err = 0;

	for (size_t i = 0; i < set->nr_series; i++) {
		const struct push_series *s = &set->series[i];
		struct otlp_attribute *a = &attributes[i * LABELS_MAX];

		for (size_t k = 0; k < s->labels.nr; k++)
			a[k] = (struct otlp_attribute){ .key = s->labels.list[k].key,
							.text = s->labels.list[k].value };
		resources[i] = (struct otlp_resource){ a, s->labels.nr, s->samples, s->nr_samples };
	}
	otlp_write(&raw, set->p, resources, set->nr_series);
	if (raw.size > max_bytes && set->p->nr_samples > 1)
		err = -EMSGSIZE;
	else
		gzip_compress(body, raw.data, raw.size);
	buffer_fini(&raw);
	free(resources);
	free(attributes);
	return err;
}

static int make_for(const struct receiver *receiver, const struct push_set *set,
		    int (*emit)(void *context, struct push_request *request), void *context)
{
	struct push_request request = {
		.receiver = receiver,
		.nr_samples = set->p->nr_samples,
		.time_ns = set->p->meta.start_realtime_ns,
	};
	int err = make_body(set, receiver->max_bytes, &request.body);

	return err ? err : emit(context, &request);
}

static int make(const struct push_set *set,
		int (*emit)(void *context, struct push_request *request), void *context)
{
	return make_for(&receiver_otlp, set, emit, context);
}

static int make_grpc(const struct push_set *set,
		     int (*emit)(void *context, struct push_request *request), void *context)
{
	return make_for(&receiver_otlp_grpc, set, emit, context);
}

/* Appends the text of a field, and returns the number of another one; 0 where it is missing. */
static uint64_t read_status(struct cursor at, uint32_t number_field, uint32_t text_field,
			    struct buffer *ret_text)
{
	struct protobuf_field f;
	uint64_t number = 0;

	while (protobuf_next(&at, &f) > 0) {
		if (f.number == number_field && !f.is_bytes)
			number = f.value;
		if (f.number == text_field && f.is_bytes)
			buffer_add(ret_text, f.bytes.at, cursor_left(&f.bytes));
	}
	return number;
}

static uint64_t rejected(const void *answer, size_t size, struct buffer *ret_why)
{
	struct cursor at = cursor_at(answer, size, 0);
	struct protobuf_field f;
	uint64_t nr = 0;

	while (protobuf_next(&at, &f) > 0) {
		uint64_t part;

		if (f.number != OTLP_PARTIAL_SUCCESS || !f.is_bytes)
			continue;
		part = read_status(f.bytes, OTLP_REJECTED_PROFILES, OTLP_ERROR_MESSAGE, ret_why);
		nr = (int64_t)part > 0 ? part : nr; /* a signed number */
	}
	return nr;
}

static void reason(const void *answer, size_t size, struct buffer *ret_why)
{
	read_status(cursor_at(answer, size, 0), OTLP_STATUS_CODE, OTLP_STATUS_MESSAGE, ret_why);
}

const struct receiver receiver_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry Collector: OTLP profiles " OTLP_PROTO_VERSION " over HTTP",
	.path = "/v1development/profiles",
	.port = 4318,
	.headers = { "Content-Type: application/x-protobuf", "Content-Encoding: gzip", NULL },
	.max_bytes = 20u << 20, /* max_request_body_size of the Collector's confighttp */
	.make = make,
	.rejected = rejected,
	.reason = reason,
};

const struct receiver receiver_otlp_grpc = {
	.name = "otlp-grpc",
	.help = "the same over gRPC: grpc://HOST:4317, or grpcs:// with TLS",
	.path = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
	.port = 4317,
	.headers = { "Content-Type: application/grpc", "TE: trailers", "grpc-encoding: gzip",
		     NULL },
	.grpc = true,
	.max_bytes = 4u << 20, /* what gRPC for Go takes, unless its settings say more */
	.make = make_grpc,
	.rejected = rejected,
};
