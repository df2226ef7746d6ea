/*
 * Reads pprof: profile.proto of github.com/google/pprof, already decompressed. A sample of pprof is
 * a sum. If another value says of how many samples, the sum is split into that many again, as the
 * margins of error depend on the number of samples. pprof_tables.c reads the tables that samples
 * refer to.
 */
#include "output/import/importer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/codec/column_units.h"
#include "output/codec/pprof_fields.h"
#include "output/import/named_frames.h"
#include "output/import/pprof_tables.h"
#include "output/codec/protobuf.h"
#include "output/tree/tree.h"

#define MAX_SIZE ((size_t)2 << 30)
#define MAX_SPREAD ((uint64_t)1 << 22) /* samples made by splitting sums */

enum { MAX_TYPES = 64, MAX_FRAMES = 1 << 16, USE_NONE = NR_COLUMNS, USE_SAMPLES };

struct reader {
	struct pprof_tables tables;
	struct profile *p;
	const char *name;
	int use[MAX_TYPES]; /* per value: an enum profile_column or USE_ */
	uint64_t spread;    /* samples made so far by splitting, at most MAX_SPREAD */
	bool spread_ended;
	/* The sample that is read: */
	uint32_t *frames;
	size_t nr_frames, frames_capacity;
	uint64_t values[MAX_TYPES];
	size_t nr_values;
	uint32_t thread;
};

static bool pprof_is(const char *data, size_t size)
{
	struct cursor at = { .at = (const uint8_t *)data, .end = (const uint8_t *)data + size };
	struct protobuf_field f, inner;
	int nr = 0;

	/* A profile begins with a sample type, two small numbers. No text begins like that. */
	if (protobuf_next(&at, &f) <= 0 || f.number != PPROF_SAMPLE_TYPE || !f.is_bytes)
		return false;
	while (protobuf_next(&f.bytes, &inner) > 0)
		nr += (inner.number == PPROF_VALUE_TYPE_TYPE ||
		       inner.number == PPROF_VALUE_TYPE_UNIT) &&
		      !inner.is_bytes;
	if (!nr || cursor_left(&f.bytes))
		return false;
	return protobuf_next(&at, &f) > 0 && f.number <= PPROF_DEFAULT_SAMPLE_TYPE + 1;
}

/* ---- which values of a sample are read */

static void type_of(struct reader *r, struct cursor at, uint32_t *ret_type, uint32_t *ret_unit)
{
	struct protobuf_field f;

	*ret_type = *ret_unit = 0;
	while (protobuf_next(&at, &f) > 0) {
		if (f.is_bytes)
			continue;
		if (f.number == PPROF_VALUE_TYPE_TYPE)
			*ret_type = pprof_string(&r->tables, r->p, f.value);
		else if (f.number == PPROF_VALUE_TYPE_UNIT)
			*ret_unit = pprof_string(&r->tables, r->p, f.value);
	}
}

static bool is_text(const struct reader *r, uint32_t string, const char *text)
{
	return !strcmp(profile_str(r->p, string), text);
}

static void warn_left_out(struct reader *r)
{
	struct buffer names = { 0 };

	for (size_t i = 0; i < r->tables.nr_types; i++) {
		uint32_t type, unit;

		type_of(r, r->tables.types[i], &type, &unit);
		if (r->use[i] == USE_NONE)
			buffer_printf(&names, "%s%s", names.size ? ", " : "",
				      profile_str(r->p, type));
	}
	if (names.size)
		log_warning("'%s': values left out: %s", r->name, buffer_cstring(&names));
	buffer_fini(&names);
}

/* If no value fits a column, the default one, or else the last, goes to COLUMN_COUNT. */
static void choose_other(struct reader *r)
{
	size_t chosen = r->tables.nr_types - 1;
	uint32_t want = pprof_string(&r->tables, r->p, r->tables.default_type), type, unit;

	for (size_t i = 0; want && i < r->tables.nr_types; i++) {
		type_of(r, r->tables.types[i], &type, &unit);
		if (type == want)
			chosen = i;
	}
	type_of(r, r->tables.types[chosen], &type, &unit);
	r->use[chosen] = COLUMN_COUNT;
	if (!is_text(r, unit, "count"))
		log_warning("'%s': %s is in %s and is shown as a plain number", r->name,
			    profile_str(r->p, type), profile_str(r->p, unit));
}

static int choose_types(struct reader *r)
{
	int samples = -1;
	bool found = false;

	if (r->tables.nr_types > MAX_TYPES)
		return -EINVAL;
	for (size_t i = 0; i < r->tables.nr_types; i++) {
		uint32_t type, unit;
		enum profile_column column;

		type_of(r, r->tables.types[i], &type, &unit);
		column = column_find(profile_str(r->p, type));
		r->use[i] = USE_NONE;
		if (is_text(r, type, "samples") && is_text(r, unit, "count"))
			samples = (int)i;
		else if (column < NR_COLUMNS && is_text(r, unit, export_column_unit(column)))
			r->use[i] = (int)column;
		found |= r->use[i] != USE_NONE;
	}
	for (size_t i = 0; i < r->tables.nr_types && samples >= 0; i++)
		if (r->use[i] == COLUMN_CPU)
			r->use[samples] = USE_SAMPLES;
	if (!found && samples >= 0 && r->tables.nr_types == 1)
		r->use[samples] = COLUMN_COUNT;
	else if (!found)
		choose_other(r);
	warn_left_out(r);
	return 0;
}

/* ---- samples */

static int add_location(struct reader *r, uint64_t id)
{
	uint32_t frame;
	int err = pprof_frame(&r->tables, r->p, id, &frame);

	if (err || r->nr_frames == MAX_FRAMES)
		return -EINVAL;
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->frames[r->nr_frames++] = frame;
	return 0;
}

static int add_value(struct reader *r, uint64_t value)
{
	if (r->nr_values == r->tables.nr_types)
		return -EINVAL;
	r->values[r->nr_values++] = value;
	return 0;
}

/* Repeated numbers come packed or one by one. */
static int add_numbers(struct reader *r, const struct protobuf_field *f,
		       int (*add)(struct reader *, uint64_t))
{
	struct cursor at = f->bytes;
	uint64_t value;
	int err = 0;

	if (!f->is_bytes)
		return add(r, f->value);
	while (!err && cursor_left(&at))
		err = cursor_get(&at, &value) ? add(r, value) : -EINVAL;
	return err;
}

struct labels {
	bool any;
	uint32_t comm;
	uint64_t pid, tid;
};

static void add_label(struct reader *r, struct cursor at, struct labels *labels)
{
	struct protobuf_field f;
	uint32_t key = 0, text = 0;
	uint64_t number = 0;

	while (protobuf_next(&at, &f) > 0) {
		if (f.number == PPROF_LABEL_KEY)
			key = pprof_string(&r->tables, r->p, f.value);
		else if (f.number == PPROF_LABEL_STR)
			text = pprof_string(&r->tables, r->p, f.value);
		else if (f.number == PPROF_LABEL_NUM)
			number = f.value;
	}
	if (is_text(r, key, "thread") || is_text(r, key, "comm") || is_text(r, key, "thread_name"))
		labels->comm = text;
	else if (is_text(r, key, "pid") || is_text(r, key, "process_id"))
		labels->pid = number;
	else if (is_text(r, key, "tid") || is_text(r, key, "thread_id"))
		labels->tid = number;
	else
		return;
	labels->any = true;
}

static int read_sample(struct reader *r, struct cursor at)
{
	struct labels labels = { 0 };
	struct protobuf_field f;
	int status, err = 0;

	r->nr_frames = r->nr_values = 0;
	while (!err && (status = protobuf_next(&at, &f)) > 0) {
		if (f.number == PPROF_SAMPLE_LOCATION_ID)
			err = add_numbers(r, &f, add_location);
		else if (f.number == PPROF_SAMPLE_VALUE)
			err = add_numbers(r, &f, add_value);
		else if (f.number == PPROF_SAMPLE_LABEL && f.is_bytes)
			add_label(r, f.bytes, &labels);
	}
	if (err || status < 0 || r->nr_values != r->tables.nr_types)
		return -EINVAL;
	r->thread = labels.any ? profile_thread(r->p, (uint32_t)labels.pid, (uint32_t)labels.tid,
						labels.comm)
			       : PROFILE_NONE;
	return 0;
}

/* Splits a sum into `nr` samples of nearly equal weight. */
static void add_samples(struct reader *r, struct profile_sample *s, uint64_t weight, uint64_t nr)
{
	nr = nr ? nr : 1;
	if (nr > MAX_SPREAD - r->spread) {
		r->spread_ended = true;
		nr = 1;
	}
	r->spread += nr;
	for (uint64_t i = 0; i < nr; i++) {
		s->weight = weight / nr + (i < weight % nr);
		profile_add_sample(r->p, s);
	}
}

static int add_sample(struct reader *r)
{
	struct profile_sample s = { .thread = r->thread };
	uint64_t nr_cpu = 0; /* 0 = unknown */

	s.stack = import_stack(r->p, r->frames, r->nr_frames);
	for (size_t i = 0; i < r->nr_values; i++) {
		if (r->values[i] > INT64_MAX)
			return -ERANGE;
		if (r->use[i] == USE_SAMPLES)
			nr_cpu = r->values[i];
	}
	for (size_t i = 0; i < r->nr_values; i++) {
		uint64_t nr = r->use[i] == COLUMN_CPU ? nr_cpu : 0;

		if (r->use[i] >= NR_COLUMNS || (!r->values[i] && !nr))
			continue;
		s.column = (uint8_t)r->use[i];
		add_samples(r, &s, r->values[i], nr);
	}
	return 0;
}

/* Comments of sprof's own exports are "key=value". */
static void read_comment(struct reader *r, const struct cursor *c)
{
	struct profile_meta *m = &r->p->meta;
	const struct {
		const char *key;
		uint32_t *string;
	} keys[] = {
		{ "command=", &m->command }, { "hostname=", &m->hostname },
		{ "kernel=", &m->kernel },   { "source=", &m->source },
		{ "event=", &m->event },
	};
	const char *s = (const char *)c->at;
	size_t n = cursor_left(c);

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t k = strlen(keys[i].key);

		if (n > k && !memcmp(s, keys[i].key, k))
			*keys[i].string = profile_string(r->p, s + k, n - k);
	}
	if (n > 5 && n < 25 && !memcmp(s, "lost=", 5)) {
		char digits[21] = "";

		memcpy(digits, s + 5, n - 5);
		r->p->stats.nr_lost = strtoull(digits, NULL, 10);
	}
}

static void read_meta(struct reader *r)
{
	struct profile_meta *m = &r->p->meta;
	uint32_t type, unit;

	for (size_t i = 0; i < r->tables.nr_comments; i++)
		read_comment(r, &r->tables.comments[i]);
	type_of(r, r->tables.period_type, &type, &unit);
	if (is_text(r, type, "cpu") && is_text(r, unit, "nanoseconds") && r->tables.period)
		m->freq_hz = (uint32_t)((1000000000 + r->tables.period / 2) / r->tables.period);
	m->start_realtime_ns = r->tables.time_ns;
	m->end_ns = r->tables.duration_ns;
	if (!m->command)
		m->command = profile_cstring(r->p, r->name);
	if (!m->source)
		m->source = profile_cstring(r->p, "pprof");
	r->p->stats.nr_samples = r->p->nr_samples;
}

static int read_profile(struct reader *r)
{
	int err = choose_types(r);

	for (size_t i = 0; !err && i < r->tables.nr_samples; i++) {
		err = read_sample(r, r->tables.samples[i]);
		if (!err)
			err = add_sample(r);
	}
	if (!err && r->spread_ended)
		log_warning("'%s' counts more than %llu samples: some sums became one sample",
			    r->name, (unsigned long long)MAX_SPREAD);
	if (!err)
		read_meta(r);
	return err;
}

static int report(const char *name, int err)
{
	if (err == -EINVAL)
		log_error(0, "read '%s': it is a damaged pprof file", name);
	else if (err == -ERANGE)
		log_error(0,
			  "read '%s': it has negative values, so it is the difference of two "
			  "profiles",
			  name);
	else
		log_error(-err, "read '%s'", name);
	return err;
}

static int pprof_read(FILE *f, const char *name, struct profile **ret_profile)
{
	struct reader r = { .name = name };
	struct buffer data = { 0 };
	int err = buffer_add_file(&data, f, MAX_SIZE);

	if (!err)
		err = pprof_tables_init(&r.tables, data.data, data.size);
	if (!err) {
		r.p = profile_new();
		err = read_profile(&r);
		pprof_tables_fini(&r.tables);
		free(r.frames);
	}
	buffer_fini(&data);
	if (err) {
		profile_free(r.p);
		return report(name, err);
	}
	*ret_profile = r.p;
	return 0;
}

const struct importer import_pprof = {
	.name = "pprof",
	.is = pprof_is,
	.read = pprof_read,
};
