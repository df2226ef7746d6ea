/*
 * Grafana Pyroscope, in two ways: the Push call of push.v1.PusherService in protobuf, and the older
 * /ingest, a request per process and column. Pyroscope makes a series of its own of each label that
 * samples have, so threads are left out.
 */
#include "output/push/receiver.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/codec/protobuf.h"
#include "output/push/pprof_parts.h"
#include "output/push/series.h"

/* Field numbers of push/v1/push.proto and types/v1/types.proto of grafana/pyroscope/api 1.6. */
enum { PUSH_SERIES = 1 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES = 2 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { SAMPLE_RAW_PROFILE = 1 };

static void add_label(struct buffer *series, const char *key, const char *value)
{
	struct buffer label = { 0 }, name = { 0 };

	push_label_add_short_key(&name, key);
	protobuf_add_bytes(&label, LABEL_NAME, name.data, name.size);
	protobuf_add_bytes(&label, LABEL_VALUE, value, strlen(value));
	protobuf_add_message(series, SERIES_LABELS, &label);
	buffer_fini(&label);
	buffer_fini(&name);
}

static int add_part(void *context, const struct pprof_part *part)
{
	struct push_request *request = context;
	struct buffer series = { 0 }, sample = { 0 };

	add_label(&series, "__name__", part->name);
	for (size_t i = 0; i < part->series->labels.nr; i++)
		add_label(&series, part->series->labels.list[i].key,
			  part->series->labels.list[i].value);
	protobuf_add_bytes(&sample, SAMPLE_RAW_PROFILE, part->pprof->data, part->pprof->size);
	protobuf_add_message(&series, SERIES_SAMPLES, &sample);
	protobuf_add_message(&request->body, PUSH_SERIES, &series);
	request->nr_samples += part->nr_samples;
	buffer_fini(&series);
	buffer_fini(&sample);
	return 0;
}

static int make(const struct push_set *set,
		int (*emit)(void *context, struct push_request *request), void *context)
{
	struct push_request request = { .receiver = &receiver_pyroscope,
					.time_ns = set->p->meta.start_realtime_ns };
	int err = pprof_parts_each(set, false, add_part, &request);

	if (err) {
		push_request_fini(&request);
		return err;
	}
	return emit(context, &request);
}

struct ingest {
	const struct push_set *set;
	int (*emit)(void *context, struct push_request *request);
	void *context;
};

/* Appends a part of the name; what the syntax of names needs becomes an underscore. */
static void add_name(struct buffer *query, const char *s)
{
	for (; *s; s++) {
		unsigned char c = strchr("{}=,\"", *s) ? '_' : (unsigned char)*s;

		if (isalnum(c) || strchr("_.-", c))
			buffer_add_char(query, (char)c);
		else
			buffer_printf(query, "%%%02X", c);
	}
}

/* "service{key=value,...}", percent-encoded. */
static void add_series_name(struct buffer *query, const struct push_labels *labels)
{
	const char *service = push_labels_find(labels, "service.name"), *comma = "";

	add_name(query, service ? service : "unknown_service");
	buffer_add_string(query, "%7B");
	for (size_t i = 0; i < labels->nr; i++) {
		struct buffer key = { 0 };

		if (!strcmp(labels->list[i].key, "service.name"))
			continue;
		push_label_add_short_key(&key, labels->list[i].key);
		buffer_add_string(query, comma);
		add_name(query, buffer_cstring(&key));
		buffer_add_string(query, "%3D");
		add_name(query, labels->list[i].value);
		buffer_fini(&key);
		comma = "%2C";
	}
	buffer_add_string(query, "%7D");
}

static int ingest_part(void *context, const struct pprof_part *part)
{
	const struct ingest *ingest = context;
	const struct profile_meta *m = &ingest->set->p->meta;
	uint64_t from_s = m->start_realtime_ns / 1000000000;
	uint64_t length_ns = m->end_ns > m->start_ns ? m->end_ns - m->start_ns : 0;
	struct push_request request = { .receiver = &receiver_pyroscope_ingest,
					.nr_samples = part->nr_samples,
					.time_ns = m->start_realtime_ns };
	struct buffer query = { 0 };

	buffer_add_string(&query, "?format=pprof&spyName=sprof&name=");
	add_series_name(&query, &part->series->labels);
	if (from_s)
		buffer_printf(&query, "&from=%llu&until=%llu", (unsigned long long)from_s,
			      (unsigned long long)(from_s + length_ns / 1000000000 + 1));
	request.query = xstrdup(buffer_cstring(&query));
	buffer_fini(&query);
	buffer_add(&request.body, part->pprof->data, part->pprof->size);
	return ingest->emit(ingest->context, &request);
}

static int make_ingest(const struct push_set *set,
		       int (*emit)(void *context, struct push_request *request), void *context)
{
	struct ingest ingest = { set, emit, context };

	return pprof_parts_each(set, false, ingest_part, &ingest);
}

const struct receiver receiver_pyroscope = {
	.name = "pyroscope",
	.help = "Grafana Pyroscope: PusherService/Push",
	.path = "/push.v1.PusherService/Push",
	.port = 4040,
	.headers = { "Content-Type: application/proto", "Connect-Protocol-Version: 1", NULL },
	.make = make,
};

const struct receiver receiver_pyroscope_ingest = {
	.name = "pyroscope-ingest",
	.help = "Grafana Pyroscope by its older API: /ingest",
	.path = "/ingest",
	.headers = { "Content-Type: application/octet-stream", NULL },
	.make = make_ingest,
};
