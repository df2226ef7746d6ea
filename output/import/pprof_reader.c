/*
 * Reads pprof: profile.proto of github.com/google/pprof, already decompressed. A sample of pprof is
 * a sum. If another value says of how many samples, the sum is split into that many again, as the
 * margins of error depend on the number of samples. pprof_tables.c reads the tables that samples
 * refer to.
 */
#include "output/import/importer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/labels.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "core/profile/profile.h"
#include "output/codec/pprof_fields.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"
#include "output/import/pprof_tables.h"
#include "output/import/pprof_values.h"
#include "output/codec/protobuf.h"
#include "output/tree/tree.h"

#define MAX_SPREAD ((uint64_t)1 << 22) /* samples made by splitting sums */

enum { MAX_FRAMES = 1 << 16 };

/* A label as ids: a text, or if `text` is 0 a number and its unit. */
struct sample_label {
	uint32_t key, text, unit;
	uint64_t number;
};

struct reader {
	struct pprof_tables tables;
	struct profile *p;
	const char *name;
	struct pprof_values columns;
	uint64_t spread; /* samples made so far by splitting, at most MAX_SPREAD */
	bool spread_ended;
	/* The sample that is read: */
	uint32_t *frames; /* leaf first */
	uint8_t *cuts;	  /* enum pprof_cut of each */
	size_t nr_frames, frames_capacity, cuts_capacity;
	uint64_t values[PPROF_MAX_VALUES];
	size_t nr_values;
	uint32_t thread;
	struct sample_label *labels;
	size_t nr_labels, labels_capacity;
	/*
	 * Labels and lists of labels as numbers: see longer_list(). The text of a list (labels.h)
	 * is written once, as many samples may have labels of megabytes.
	 */
	struct number_map label_ids, label_lists;
	struct number_map label_texts; /* by list: the string */
};

/* Is the field at the cursor one that the end of the data cuts off? */
static bool is_cut_off(struct cursor at)
{
	uint64_t tag, length;

	if (!cursor_get(&at, &tag))
		return cursor_left(&at) < 10;
	if (tag >> 3 == 0 || tag >> 3 > PPROF_DOC_URL)
		return false;
	if (!cursor_get(&at, &length))
		return cursor_left(&at) < 10;
	return (tag & 7) == 2 && length > cursor_left(&at);
}

/*
 * Fields may come in any order, so each must have the type that its number asks for, up to where
 * the data is cut off. Text can happen to look like that, but a profile without any control
 * character cannot be written.
 */
static bool pprof_is(const char *data, size_t size)
{
	static const bool is_message[PPROF_DOC_URL + 1] = {
		[PPROF_SAMPLE_TYPE] = true, [PPROF_SAMPLE] = true,   [PPROF_MAPPING] = true,
		[PPROF_LOCATION] = true,    [PPROF_FUNCTION] = true, [PPROF_STRING_TABLE] = true,
		[PPROF_PERIOD_TYPE] = true,
	};
	struct cursor at = { .at = (const uint8_t *)data, .end = (const uint8_t *)data + size };
	struct cursor field = at;
	struct protobuf_field f;
	bool any = false, any_control = false;

	for (size_t i = 0; i < size && !any_control; i++)
		any_control = (uint8_t)data[i] < ' ' && !memchr("\t\n\v\f\r", data[i], 5);
	if (!any_control)
		return false;
	for (; protobuf_next(&at, &f) > 0; field = at, any = true)
		if (f.number > PPROF_DOC_URL ||
		    (f.number != PPROF_COMMENT && f.is_bytes != is_message[f.number]))
			return false;
	return any && (!cursor_left(&field) || is_cut_off(field));
}

static bool is_text(const struct reader *r, uint32_t string, const char *text)
{
	return !strcmp(profile_str(r->p, string), text);
}

static int add_location(struct reader *r, uint64_t id)
{
	uint32_t frame;
	uint8_t cut;
	int err = pprof_frame(&r->tables, r->p, id, &frame, &cut);

	if (err || r->nr_frames == MAX_FRAMES)
		return -EINVAL;
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->cuts = xgrow(r->cuts, &r->cuts_capacity, r->nr_frames + 1, sizeof(*r->cuts));
	r->cuts[r->nr_frames] = cut;
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

/* The number of a label, or that at the beginning of its text. */
static uint64_t number_of(const struct reader *r, const struct sample_label *l)
{
	char digits[32]; /* more than a number has, and less than a long text */

	if (!l->text || l->number)
		return l->number;
	snprintf(digits, sizeof(digits), "%.31s", profile_str(r->p, l->text));
	return strtoull(digits, NULL, 10);
}

static void add_label(struct reader *r, struct cursor at, struct labels *labels)
{
	struct sample_label l = { 0 };
	struct protobuf_field f;

	while (protobuf_next(&at, &f) > 0) {
		if (f.number == PPROF_LABEL_KEY)
			l.key = pprof_string(&r->tables, r->p, f.value);
		else if (f.number == PPROF_LABEL_STR)
			l.text = pprof_string(&r->tables, r->p, f.value);
		else if (f.number == PPROF_LABEL_NUM)
			l.number = f.value;
		else if (f.number == PPROF_LABEL_NUM_UNIT)
			l.unit = pprof_string(&r->tables, r->p, f.value);
	}
	if (is_text(r, l.key, "thread") || is_text(r, l.key, "comm") ||
	    is_text(r, l.key, "thread_name") || is_text(r, l.key, "thread name")) {
		labels->comm = l.text;
	} else if (is_text(r, l.key, "pid") || is_text(r, l.key, "process_id")) {
		labels->pid = number_of(r, &l);
	} else if (is_text(r, l.key, "tid") || is_text(r, l.key, "thread_id") ||
		   is_text(r, l.key, "thread id")) {
		labels->tid = number_of(r, &l);
	} else {
		r->labels =
			xgrow(r->labels, &r->labels_capacity, r->nr_labels + 1, sizeof(*r->labels));
		r->labels[r->nr_labels++] = l;
		return;
	}
	labels->any = true;
}

/*
 * Gives lists of numbers a number each: it follows from that of the list without its last element,
 * and that element. 0 is the empty list.
 */
static uint32_t longer_list(struct number_map *lists, uint32_t list, uint32_t element)
{
	bool is_new;
	uint32_t *longer = number_map_at(lists, (uint64_t)list << 32 | element, &is_new);

	if (is_new)
		*longer = (uint32_t)lists->nr;
	return *longer;
}

static uint32_t label_id(struct reader *r, const struct sample_label *l)
{
	uint32_t id = longer_list(&r->label_ids, 0, l->key);

	id = longer_list(&r->label_ids, id, l->text);
	if (l->text)
		return id;
	id = longer_list(&r->label_ids, id, l->unit);
	id = longer_list(&r->label_ids, id, (uint32_t)l->number);
	return longer_list(&r->label_ids, id, (uint32_t)(l->number >> 32));
}

static uint32_t write_labels(struct reader *r)
{
	struct buffer text = { 0 };
	uint32_t string;

	for (size_t i = 0; i < r->nr_labels; i++) {
		const struct sample_label *l = &r->labels[i];
		char digits[24];

		snprintf(digits, sizeof(digits), "%" PRId64, (int64_t)l->number);
		labels_add(&text, profile_str(r->p, l->key),
			   l->text ? profile_str(r->p, l->text) : digits,
			   l->text ? NULL : profile_str(r->p, l->unit));
	}
	string = profile_string(r->p, text.data, text.size);
	buffer_fini(&text);
	return string;
}

/* The labels of the sample as a string: see labels.h. */
static uint32_t labels_of_sample(struct reader *r)
{
	uint32_t list = 0, *text;
	bool is_new;

	for (size_t i = 0; i < r->nr_labels; i++)
		list = longer_list(&r->label_lists, list, label_id(r, &r->labels[i]));
	text = number_map_at(&r->label_texts, list, &is_new);
	if (is_new)
		*text = write_labels(r);
	return *text;
}

static int read_sample(struct reader *r, struct cursor at)
{
	struct labels labels = { 0 };
	struct protobuf_field f;
	int status, err = 0;

	r->nr_frames = r->nr_values = r->nr_labels = 0;
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
	struct profile_sample s = {
		.thread = r->thread,
		.labels = labels_of_sample(r),
	};
	const struct pprof_values *c = &r->columns;
	uint64_t nr_counted = 0; /* 0 = unknown */
	size_t cut = pprof_prune_stack(r->cuts, r->nr_frames);

	s.stack = import_stack(r->p, r->nr_frames ? r->frames + cut : NULL, r->nr_frames - cut);
	for (size_t i = 0; i < r->nr_values; i++) {
		if (r->values[i] > INT64_MAX)
			return -ERANGE;
		if (c->use[i] == PPROF_USE_SAMPLES)
			nr_counted = r->values[i];
	}
	for (size_t i = 0; i < r->nr_values; i++) {
		uint64_t nr = c->use[i] == c->counted ? nr_counted : 0;

		if (c->use[i] >= NR_COLUMNS || (!r->values[i] && !nr))
			continue;
		if (__builtin_mul_overflow(r->values[i], c->scale[i], &r->values[i]))
			return -EOVERFLOW;
		s.column = (uint8_t)c->use[i];
		add_samples(r, &s, r->values[i], nr);
	}
	return 0;
}

/*
 * Comments of sprof's own exports are "key=value". The last of a key counts; they are read from the
 * last one on, and others of the key, which may be long, are passed over.
 */
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

		if (!*keys[i].string && n > k && !memcmp(s, keys[i].key, k))
			*keys[i].string = profile_string(r->p, s + k, n - k);
	}
	if (!r->p->stats.nr_lost && n > 5 && n < 25 && !memcmp(s, "lost=", 5)) {
		char digits[21] = "";

		memcpy(digits, s + 5, n - 5);
		r->p->stats.nr_lost = strtoull(digits, NULL, 10);
	}
}

static void read_meta(struct reader *r)
{
	struct profile_meta *m = &r->p->meta;
	uint32_t type, unit;

	for (size_t i = r->tables.nr_comments; i--;)
		read_comment(r, &r->tables.comments[i]);
	pprof_value_type(&r->tables, r->p, r->tables.period_type, &type, &unit);
	if (is_text(r, type, "cpu") && is_text(r, unit, "nanoseconds") && r->tables.period)
		m->freq_hz = (uint32_t)((1000000000 + r->tables.period / 2) / r->tables.period);
	m->start_realtime_ns = r->tables.time_ns;
	m->end_ns = r->tables.duration_ns;
	import_describe(r->p, r->name, "pprof");
}

static int read_profile(struct reader *r)
{
	int err = pprof_choose_values(&r->columns, &r->tables, r->p, r->name);

	pprof_prune_init(&r->tables.prune,
			 profile_str(r->p, pprof_string(&r->tables, r->p, r->tables.drop_frames)),
			 profile_str(r->p, pprof_string(&r->tables, r->p, r->tables.keep_frames)),
			 r->name);
	for (size_t i = 0; !err && i < r->tables.nr_samples; i++) {
		err = read_sample(r, r->tables.samples[i]);
		if (!err)
			err = add_sample(r);
	}
	if (!err && r->spread_ended)
		log_warning("'%s' counts more than %llu samples: some sums became one sample",
			    r->name, (unsigned long long)MAX_SPREAD);
	if (!err && r->tables.nr_repaired)
		log_warning("'%s': strings that are not UTF-8 were repaired: %zu", r->name,
			    r->tables.nr_repaired);
	if (err)
		return err;
	read_meta(r);
	return 0;
}

static void report(const char *name, int err)
{
	if (err == -EINVAL)
		log_error(0, "read '%s': it is a damaged pprof file", name);
	else if (err == -ERANGE)
		log_error(0,
			  "read '%s': it has negative values, so it is the difference of two "
			  "profiles",
			  name);
	else if (err == -EOVERFLOW)
		log_error(0, "read '%s': a value is too large", name);
	else if (err)
		log_error(-err, "read '%s'", name);
}

static int pprof_read(FILE *f, const char *name, const struct import_opts *opts,
		      struct profile **ret_profile)
{
	struct reader r = { .name = name };
	struct buffer data = { 0 };
	int err = import_read_all(f, name, &data);

	(void)opts;
	if (err)
		goto out;
	err = pprof_tables_init(&r.tables, data.data, data.size);
	if (!err) {
		r.p = profile_new();
		err = read_profile(&r);
		pprof_tables_fini(&r.tables);
		free(r.frames);
		free(r.cuts);
		free(r.labels);
		number_map_fini(&r.label_ids);
		number_map_fini(&r.label_lists);
		number_map_fini(&r.label_texts);
	}
	report(name, err);
out:
	buffer_fini(&data);
	return import_end(r.p, err, ret_profile);
}

const struct importer import_pprof = {
	.name = "pprof",
	.unnamed = true,
	.is = pprof_is,
	.read = pprof_read,
};
