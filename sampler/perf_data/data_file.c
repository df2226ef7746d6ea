/*
 * Reads the header, and makes a list of where each record lies, sorted by time: records of several
 * CPUs follow each other in runs. Compressed records are expanded into one buffer, which is listed
 * like the file itself. A record that cannot be read is counted, and reading goes on behind it
 * where possible.
 */
#include "sampler/perf_data/data_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/alloc.h"
#include "core/base/memory_limit.h"
#include "core/base/order.h"
#include "sampler/perf_data/features.h"

#define MAGIC "PERFILE2"
#define EXPANDED_MAX (4ull << 30)
#define EVENTS_MAX 65536
#define PIPE_HEADER_SIZE 16 /* perf record -o -: magic and size, the rest comes as records */
#define FILE_HEADER_SIZE 104

/* Types of records that perf adds to the kernel's: tools/lib/perf/include/perf/event.h. */
enum {
	RECORD_ATTR = 64,
	RECORD_BUILD_ID = 67,
	RECORD_AUXTRACE = 71,
	RECORD_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
	RECORD_OWN = 64, /* from here on: perf's own, without the ids and time at the end */
};

struct section {
	uint64_t offset, size;
};

bool perf_data_file_is(const void *data, size_t size)
{
	return size >= 8 && !memcmp(data, MAGIC, 8);
}

static struct cursor part(const struct perf_data_file *f, struct section s)
{
	if (s.offset > f->size)
		s.offset = f->size;
	if (s.size > f->size - s.offset)
		s.size = f->size - s.offset;
	return (struct cursor){ f->data + s.offset, f->data + s.offset + s.size, false };
}

static struct section take_section(struct cursor *b)
{
	struct section s;

	s.offset = cursor_fixed(b, 8);
	s.size = cursor_fixed(b, 8);
	return s;
}

/* `ids`: 8 bytes each. */
static void add_event(struct perf_data_file *f, struct cursor attr, struct cursor ids)
{
	struct perf_data_event *e;
	size_t size = cursor_left(&attr);

	if (f->nr_events == EVENTS_MAX || size < PERF_ATTR_SIZE_VER0)
		return;
	f->events = xgrow(f->events, &f->events_capacity, f->nr_events + 1, sizeof(*f->events));
	e = &f->events[f->nr_events++];
	*e = (struct perf_data_event){ .name = xstrdup("") };
	memcpy(&e->attr, attr.at, size < sizeof(e->attr) ? size : sizeof(e->attr));
	e->nr_ids = cursor_left(&ids) / 8;
	e->ids = xcalloc(e->nr_ids + 1, sizeof(*e->ids));
	if (e->nr_ids)
		memcpy(e->ids, ids.at, e->nr_ids * 8);
}

static void read_attrs(struct perf_data_file *f, struct section attrs, uint64_t attr_size)
{
	struct cursor b = part(f, attrs);

	if (attr_size < PERF_ATTR_SIZE_VER0 + 16)
		return;
	while (cursor_left(&b) >= attr_size) {
		struct cursor attr = { b.at, b.at + attr_size - 16, false };
		struct section ids;

		cursor_take(&b, attr_size - 16);
		ids = take_section(&b);
		add_event(f, attr, part(f, ids));
	}
}

/* In a file from a pipe an event is a record: the attributes, whose size is in them, then ids. */
static void read_attr_record(struct perf_data_file *f, const uint8_t *body, size_t size)
{
	struct cursor b = { body, body + size, false };
	uint32_t attr_size;

	if (size < PERF_ATTR_SIZE_VER0)
		return;
	memcpy(&attr_size, body + 4, 4);
	if (attr_size < PERF_ATTR_SIZE_VER0 || attr_size > size)
		return;
	cursor_take(&b, attr_size);
	add_event(f, (struct cursor){ body, body + attr_size, false }, b);
}

const struct perf_data_event *perf_data_file_event(const struct perf_data_file *f, uint64_t id)
{
	bool any = false;

	for (size_t i = 0; i < f->nr_events; i++) {
		for (size_t k = 0; k < f->events[i].nr_ids; k++)
			if (f->events[i].ids[k] == id)
				return &f->events[i];
		any |= f->events[i].nr_ids > 0;
	}
	return f->nr_events && !any ? f->events : NULL;
}

/*
 * Records that are not samples end with the event's ids: how far before the end does the time lie?
 */
static bool time_from_end(const struct perf_event_attr *attr, size_t *ret_distance)
{
	uint64_t behind =
		attr->sample_type & (PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				     PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);

	*ret_distance = 8 * (size_t)__builtin_popcountll(behind);
	return attr->sample_id_all && attr->sample_type & PERF_SAMPLE_TIME;
}

static bool time_from_start(const struct perf_event_attr *attr, size_t *ret_distance)
{
	uint64_t before =
		attr->sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);

	*ret_distance = 8 * (size_t)__builtin_popcountll(before);
	return attr->sample_type & PERF_SAMPLE_TIME;
}

/* The time lies in the same place in all events: perf record sees to that. */
static uint64_t time_of(const struct perf_data_file *f, uint32_t type, const uint8_t *body,
			size_t size)
{
	uint64_t time_ns = 0;
	size_t distance;

	if (!f->nr_events || type >= RECORD_OWN)
		return 0;
	if (type == PERF_RECORD_SAMPLE) {
		if (time_from_start(&f->events->attr, &distance) && size >= distance + 8)
			memcpy(&time_ns, body + distance, 8);
	} else if (time_from_end(&f->events->attr, &distance) && size >= distance) {
		memcpy(&time_ns, body + size - distance, 8);
	}
	return time_ns;
}

static void add_place(struct perf_data_file *f, const struct perf_data_place *place)
{
	f->places = xgrow(f->places, &f->places_capacity, f->nr_places + 1, sizeof(*f->places));
	f->places[f->nr_places++] = *place;
}

static int expand(struct perf_data_file *f, ZSTD_DStream *stream, const uint8_t *data, size_t size)
{
	ZSTD_inBuffer in = { data, size, 0 };
	ZSTD_outBuffer out;

	do {
		size_t room = ZSTD_DStreamOutSize(), before = in.pos, ret;

		if (f->expanded.size > f->expanded_max)
			return -EFBIG;
		out = (ZSTD_outBuffer){ buffer_reserve(&f->expanded, room), room, 0 };
		ret = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(ret)) {
			f->nr_damaged++;
			return 0;
		}
		f->expanded.size += out.pos;
		if (in.pos == before && !out.pos)
			return 0;
	} while (in.pos < in.size || out.pos == out.size);
	return 0;
}

/* perf 6.16 and later: the size comes first, as zeros follow up to a multiple of 8. */
static int expand_sized(struct perf_data_file *f, ZSTD_DStream *stream, const uint8_t *body,
			size_t body_size)
{
	uint64_t size;

	memcpy(&size, body, 8);
	if (size > body_size - 8) {
		f->nr_damaged++;
		return 0;
	}
	return expand(f, stream, body + 8, size);
}

/* Lists the records between two offsets; compressed ones are expanded, to be listed afterwards. */
static int list_records(struct perf_data_file *f, const uint8_t *base, size_t offset, size_t end,
			ZSTD_DStream *stream)
{
	int err = 0;

	while (end - offset >= sizeof(struct perf_event_header) && !err) {
		struct perf_event_header h;
		const uint8_t *body = base + offset + sizeof(h);
		uint64_t skip = 0;

		memcpy(&h, base + offset, sizeof(h));
		if (h.size < sizeof(h) || h.size > end - offset) {
			f->nr_damaged++;
			break;
		}
		if (h.type == RECORD_AUXTRACE && h.size >= sizeof(h) + 8)
			memcpy(&skip, body, 8);
		if (h.type == RECORD_COMPRESSED && stream)
			err = expand(f, stream, body, h.size - sizeof(h));
		else if (h.type == RECORD_COMPRESSED2 && stream && h.size >= sizeof(h) + 8)
			err = expand_sized(f, stream, body, h.size - sizeof(h));
		else if (h.type == RECORD_ATTR)
			read_attr_record(f, body, h.size - sizeof(h));
		else if (h.type == RECORD_BUILD_ID)
			perf_data_read_build_ids(
				f, (struct cursor){ base + offset, base + offset + h.size, false });
		else if (h.type == RECORD_FEATURE && h.size >= sizeof(h) + 8)
			perf_data_read_feature(
				f, (uint32_t)body[0],
				(struct cursor){ body + 8, base + offset + h.size, false });
		else if (h.type < RECORD_OWN)
			add_place(f, &(struct perf_data_place){
					     time_of(f, h.type, body, h.size - sizeof(h)), offset,
					     !stream });
		offset += h.size;
		if (skip > end - offset)
			skip = end - offset;
		f->nr_trace_bytes += skip;
		offset += skip;
	}
	if (end - offset && end - offset < sizeof(struct perf_event_header))
		f->nr_damaged++;
	return err;
}

static int compare_places(const void *a, const void *b)
{
	const struct perf_data_place *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns) ?: ORDER(x->expanded, y->expanded)
	       ?: ORDER(x->offset, y->offset);
}

static int read_records(struct perf_data_file *f, struct section data)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	struct cursor b = part(f, data);
	int err;

	if (!stream)
		return -ENOMEM;
	err = list_records(f, f->data, (size_t)(b.at - f->data), (size_t)(b.end - f->data), stream);
	if (!err && f->expanded.size)
		err = list_records(f, (const uint8_t *)f->expanded.data, 0, f->expanded.size, NULL);
	ZSTD_freeDStream(stream);
	if (f->nr_places)
		qsort(f->places, f->nr_places, sizeof(*f->places), compare_places);
	return err;
}

static void read_features(struct perf_data_file *f, struct section data, const uint64_t *bits)
{
	struct section table = { data.offset + data.size, f->size };
	struct cursor b;

	if (table.offset < data.offset)
		return;
	b = part(f, table);
	for (uint32_t i = 0; i < 256; i++) {
		struct section s;

		if (!(bits[i / 64] & 1ull << i % 64))
			continue;
		s = take_section(&b);
		if (b.bad)
			return;
		perf_data_read_feature(f, i, part(f, s));
	}
}

static int read_file(struct perf_data_file *f)
{
	struct cursor b = { f->data, f->data + f->size, false };
	struct section attrs, data;
	uint64_t header_size, attr_size, features[4];

	cursor_take(&b, 8);
	header_size = cursor_fixed(&b, 8);
	if (header_size == PIPE_HEADER_SIZE)
		return read_records(f, (struct section){ PIPE_HEADER_SIZE, f->size });
	if (header_size < FILE_HEADER_SIZE || f->size < FILE_HEADER_SIZE)
		return -EINVAL;
	attr_size = cursor_fixed(&b, 8);
	attrs = take_section(&b);
	data = take_section(&b);
	take_section(&b); /* event types: perf no longer writes them */
	for (int i = 0; i < 4; i++)
		features[i] = cursor_fixed(&b, 8);
	read_attrs(f, attrs, attr_size);
	/* perf writes the size when it ends: it is 0 if perf was killed. */
	f->cut_off = !data.size || data.offset > f->size || data.size > f->size - data.offset;
	if (f->cut_off)
		data.size = f->size;
	else
		read_features(f, data, features);
	return read_records(f, data);
}

int perf_data_file_open(struct perf_data_file *f, const void *data, size_t size)
{
	int err;

	*f = (struct perf_data_file){ .data = data, .size = size };
	f->expanded_max = memory_limit_file(size);
	if (f->expanded_max > EXPANDED_MAX)
		f->expanded_max = EXPANDED_MAX;
	f->hostname = xstrdup("");
	f->release = xstrdup("");
	f->version = xstrdup("");
	f->arch = xstrdup("");
	f->command = xstrdup("");
	err = perf_data_file_is(data, size) ? read_file(f) : -EINVAL;
	if (!err && !f->nr_events)
		err = -EINVAL;
	if (err)
		perf_data_file_close(f);
	return err;
}

void perf_data_file_close(struct perf_data_file *f)
{
	for (size_t i = 0; i < f->nr_events; i++) {
		free(f->events[i].ids);
		free(f->events[i].name);
	}
	free(f->events);
	free(f->build_ids);
	free(f->hostname);
	free(f->release);
	free(f->version);
	free(f->arch);
	free(f->command);
	free(f->places);
	buffer_fini(&f->expanded);
	*f = (struct perf_data_file){ 0 };
}

void perf_data_file_record(const struct perf_data_file *f, size_t at, struct perf_data_record *ret)
{
	const struct perf_data_place *place = &f->places[at];
	const uint8_t *base = place->expanded ? (const uint8_t *)f->expanded.data : f->data;

	memcpy(&ret->header, base + place->offset, sizeof(ret->header));
	ret->body = base + place->offset + sizeof(ret->header);
	ret->size = ret->header.size - sizeof(ret->header);
	ret->time_ns = place->time_ns;
}
