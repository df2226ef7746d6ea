/*
 * Writes OpenTelemetry's ProfilesData, gzipped: what an OTLP receiver takes, as a file. Each column
 * is a Profile of its own, and all share one dictionary of functions, locations, stacks, strings
 * and attributes. A sample is the sum of a stack in a thread with the same labels. Index i of a
 * table of sprof is index i + 1 there, as index 0 is "none".
 */
#include "output/export/otlp_writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/path.h"
#include "core/profile/column.h"
#include "core/profile/hosts.h"
#include "core/profile/labels.h"
#include "core/profile/profile.h"
#include "output/codec/column_units.h"
#include "output/codec/gzip.h"
#include "output/codec/otlp_fields.h"
#include "output/codec/protobuf.h"
#include "output/export/exporter.h"
#include "output/export/stack_groups.h"
#include "output/text/text.h"

/* Attributes of a set of labels; nr 0 = none yet. */
struct label_range {
	uint64_t first, nr;
};

struct writer {
	const struct profile *p;
	const struct profile *part; /* the same tables, with the samples of one resource */
	struct buffer *b;
	struct profile *strings;	    /* interns the string table */
	struct buffer message, inner, text; /* scratch */
	struct buffer attributes;	    /* the entries of the attribute table after the first */
	uint64_t nr_attributes;		    /* with the first */
	uint32_t *order;		    /* stack_groups_order() of the part */
	struct label_range *label_attributes; /* by string */
	uint64_t *thread_attributes;	      /* by thread: the first of its three; 0 = none yet */
};

static uint32_t string_id(struct writer *w, const char *s)
{
	w->text.size = 0;
	text_add_clean(&w->text, s, strlen(s));
	return profile_string(w->strings, w->text.data, w->text.size);
}

/* Adds a field of type AnyValue to `message`: `text`, or where that is NULL, `number`. */
static void add_any_value(struct buffer *message, uint32_t field, const char *text, uint64_t number)
{
	struct buffer value = { 0 }, clean = { 0 };

	if (text) {
		text_add_clean(&clean, text, strlen(text));
		protobuf_add_bytes(&value, OTLP_VALUE_STRING, clean.data, clean.size);
	} else {
		protobuf_add_number(&value, OTLP_VALUE_INT, number);
	}
	protobuf_add_message(message, field, &value);
	buffer_fini(&value);
	buffer_fini(&clean);
}

/* Returns the index of a new attribute. */
static uint64_t add_attribute(struct writer *w, const char *key, const char *text, uint64_t number)
{
	struct buffer attribute = { 0 };

	protobuf_add_number(&attribute, OTLP_ATTRIBUTE_KEY, string_id(w, key));
	add_any_value(&attribute, OTLP_ATTRIBUTE_VALUE, text, number);
	protobuf_add_message(&w->attributes, OTLP_ATTRIBUTE_TABLE, &attribute);
	buffer_fini(&attribute);
	return w->nr_attributes++;
}

static void add_value_type(struct writer *w, struct buffer *b, uint32_t field, const char *type,
			   const char *unit)
{
	protobuf_add_number(&w->inner, OTLP_VALUE_TYPE, string_id(w, type));
	protobuf_add_number(&w->inner, OTLP_VALUE_UNIT, string_id(w, unit));
	protobuf_add_message(b, field, &w->inner);
}

static void add_thread(struct writer *w, uint32_t thread)
{
	const struct profile_thread *t;
	uint64_t first;

	if (thread == PROFILE_NONE)
		return;
	t = &w->p->threads[thread];
	if (!w->thread_attributes[thread]) {
		w->thread_attributes[thread] =
			add_attribute(w, "thread.name", profile_str(w->p, t->comm), 0);
		add_attribute(w, "thread.id", NULL, t->tid);
		add_attribute(w, "process.pid", NULL, t->pid);
		if (w->p->has_hosts)
			add_attribute(w, "host.name", hosts_name(w->p, hosts_process(t)), 0);
	}
	first = w->thread_attributes[thread];
	for (uint64_t i = 0; i < (w->p->has_hosts ? 4 : 3); i++)
		buffer_add_varint(&w->inner, first + i);
}

/* Labels that a file of pprof brought along; samples with the same labels share theirs. */
static void add_labels(struct writer *w, uint32_t labels)
{
	const char *text = profile_str(w->p, labels);
	struct label_range *range = &w->label_attributes[labels];
	struct label l;

	if (!labels)
		return;
	if (!range->nr) {
		range->first = w->nr_attributes;
		while (labels_next(&text, &l)) {
			char *key = xasprintf("%.*s", (int)l.key_size, l.key);
			char *value = xasprintf("%.*s", (int)l.value_size, l.value);

			add_attribute(w, key, l.unit ? NULL : value, label_number(&l));
			range->nr++;
			free(key);
			free(value);
		}
	}
	for (uint64_t i = 0; i < range->nr; i++)
		buffer_add_varint(&w->inner, range->first + i);
}

/* Writes the sum of one group in a column, order[first] to order[end - 1]. */
static void add_sample(struct writer *w, struct buffer *profile, size_t first, size_t end,
		       enum profile_column column)
{
	const struct profile_sample *samples = w->part->samples, *s = &samples[w->order[first]];
	uint64_t sum = 0;

	for (size_t i = first; i < end; i++)
		if (samples[w->order[i]].column == column)
			sum += samples[w->order[i]].weight;
	if (!sum)
		return;
	protobuf_add_number(&w->message, OTLP_SAMPLE_STACK, (uint64_t)s->stack + 1);
	add_thread(w, s->thread);
	add_labels(w, s->labels);
	if (w->inner.size)
		protobuf_add_message(&w->message, OTLP_SAMPLE_ATTRIBUTES, &w->inner);
	buffer_add_varint(&w->inner, sum);
	protobuf_add_message(&w->message, OTLP_SAMPLE_VALUES, &w->inner);
	protobuf_add_message(profile, OTLP_SAMPLES, &w->message);
}

static void add_fixed64(struct buffer *b, uint32_t field, uint64_t value)
{
	buffer_add_varint(b, (uint64_t)field << 3 | 1);
	for (int i = 0; i < 8; i++)
		buffer_add_char(b, (char)(value >> 8 * i));
}

static void add_profile(struct writer *w, struct buffer *scope, enum profile_column column)
{
	const struct profile_meta *m = &w->p->meta;
	struct buffer profile = { 0 };

	add_value_type(w, &profile, OTLP_SAMPLE_TYPE,
		       column_pprof_name(column_info_of(w->p, column)), export_column_unit(column));
	for (size_t first = 0, end; first < w->part->nr_samples; first = end) {
		end = stack_groups_end(w->part, w->order, first);
		add_sample(w, &profile, first, end, column);
	}
	if (m->start_realtime_ns)
		add_fixed64(&profile, OTLP_TIME_UNIX_NANO, m->start_realtime_ns);
	if (m->end_ns > m->start_ns)
		protobuf_add_number(&profile, OTLP_DURATION_NANO, m->end_ns - m->start_ns);
	if (m->freq_hz && column == COLUMN_CPU) {
		add_value_type(w, &profile, OTLP_PERIOD_TYPE, "cpu", "nanoseconds");
		protobuf_add_number(&profile, OTLP_PERIOD, 1000000000 / m->freq_hz);
	}
	protobuf_add_message(scope, OTLP_PROFILES, &profile);
	buffer_fini(&profile);
}

static void add_resource(struct buffer *to, const struct otlp_resource *r)
{
	struct buffer resource = { 0 }, attribute = { 0 };

	for (size_t i = 0; i < r->nr_attributes; i++) {
		const struct otlp_attribute *a = &r->attributes[i];

		protobuf_add_bytes(&attribute, OTLP_ATTRIBUTE_KEY, a->key, strlen(a->key));
		add_any_value(&attribute, OTLP_ATTRIBUTE_VALUE, a->text, a->number);
		protobuf_add_message(&resource, OTLP_RESOURCE_ATTRIBUTES, &attribute);
	}
	protobuf_add_message(to, OTLP_RESOURCE, &resource);
	buffer_fini(&attribute);
	buffer_fini(&resource);
}

/* The column that the profile shows by default comes first, as viewers show the first. */
static void add_profiles(struct writer *w, struct buffer *scope)
{
	const enum profile_column shown = column_default(w->part);
	bool present[NR_COLUMNS];

	columns_present(w->part, present);
	if (present[shown])
		add_profile(w, scope, shown);
	for (int c = 0; c < NR_COLUMNS; c++)
		if (present[c] && c != (int)shown)
			add_profile(w, scope, (enum profile_column)c);
}

static void add_resource_profiles(struct writer *w, const struct otlp_resource *r)
{
	struct buffer resource = { 0 }, scope = { 0 };
	struct profile part = *w->p;

	part.samples = r->samples;
	part.nr_samples = r->nr_samples;
	w->part = &part;
	w->order = stack_groups_order(&part);
	add_resource(&resource, r);
	protobuf_add_bytes(&w->inner, OTLP_SCOPE_NAME, "sprof", 5);
	protobuf_add_bytes(&w->inner, OTLP_SCOPE_VERSION, SPROF_VERSION, strlen(SPROF_VERSION));
	protobuf_add_message(&scope, OTLP_SCOPE, &w->inner);
	add_profiles(w, &scope);
	protobuf_add_message(&resource, OTLP_SCOPE_PROFILES, &scope);
	protobuf_add_message(w->b, OTLP_RESOURCE_PROFILES, &resource);
	free(w->order);
	w->order = NULL;
	w->part = NULL;
	buffer_fini(&scope);
	buffer_fini(&resource);
}

static void add_empty(struct buffer *b, uint32_t field)
{
	protobuf_add_bytes(b, field, "", 0);
}

static void add_mappings(struct writer *w, struct buffer *b)
{
	const struct profile *p = w->p;

	add_empty(b, OTLP_MAPPING_TABLE);
	for (size_t i = 0; i < p->nr_modules; i++) {
		const struct profile_module *m = &p->modules[i];

		protobuf_add_number(&w->message, OTLP_MAPPING_FILENAME,
				    string_id(w, profile_str(p, m->path)));
		if (m->build_id_size) {
			struct buffer hex = { 0 };

			for (int k = 0; k < m->build_id_size; k++)
				buffer_printf(&hex, "%02x", m->build_id[k]);
			buffer_add_varint(&w->inner,
					  add_attribute(w, "process.executable.build_id.gnu",
							buffer_cstring(&hex), 0));
			protobuf_add_message(&w->message, OTLP_MAPPING_ATTRIBUTES, &w->inner);
			buffer_fini(&hex);
		}
		protobuf_add_message(b, OTLP_MAPPING_TABLE, &w->message);
	}
}

static void add_function(struct writer *w, struct buffer *b, const char *name,
			 const struct profile_function *f)
{
	protobuf_add_number(&w->message, OTLP_FUNCTION_NAME,
			    string_id(w, *name ? name : "[empty name]"));
	if (f) {
		protobuf_add_number(&w->message, OTLP_FUNCTION_SYSTEM_NAME,
				    string_id(w, profile_str(w->p, f->system_name)));
		protobuf_add_number(&w->message, OTLP_FUNCTION_FILENAME,
				    string_id(w, profile_str(w->p, f->file)));
		protobuf_add_number(&w->message, OTLP_FUNCTION_START_LINE, f->start_line);
	}
	protobuf_add_message(b, OTLP_FUNCTION_TABLE, &w->message);
}

/* What the report calls a frame without a name: its file, "[libx.so]", or its marker. */
static void add_unnamed(struct writer *w, struct buffer *b, uint32_t frame)
{
	const struct profile_module *m = &w->p->modules[w->p->frames[frame].module];
	const char *base = path_base_name(profile_str(w->p, m->path));
	char fallback[64], *name;

	if (m->kind == MODULE_MARKER)
		name = xstrdup(
			profile_frame_fallback_name(w->p, frame, fallback, sizeof(fallback)));
	else
		name = *base == '[' ? xstrdup(base) : xasprintf("[%s]", base);
	add_function(w, b, name, NULL);
	free(name);
}

/* Frames without a name, too, get a function: receivers do not look for names themselves. */
static void add_functions(struct writer *w, struct buffer *b)
{
	const struct profile *p = w->p;

	add_empty(b, OTLP_FUNCTION_TABLE);
	for (size_t i = 0; i < p->nr_functions; i++)
		add_function(w, b, profile_str(p, p->functions[i].name), &p->functions[i]);
	for (uint32_t i = 0; i < p->nr_frames; i++)
		if (!p->frames[i].nr_locations)
			add_unnamed(w, b, i);
}

static void add_line(struct writer *w, uint64_t function, uint32_t line)
{
	protobuf_add_number(&w->inner, OTLP_LINE_FUNCTION, function + 1);
	protobuf_add_number(&w->inner, OTLP_LINE_LINE, line);
	protobuf_add_message(&w->message, OTLP_LOCATION_LINES, &w->inner);
}

static void add_locations(struct writer *w, struct buffer *b)
{
	const struct profile *p = w->p;
	uint64_t unnamed = p->nr_functions;

	add_empty(b, OTLP_LOCATION_TABLE);
	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		if (profile_module_has_addresses(&p->modules[f->module])) {
			protobuf_add_number(&w->message, OTLP_LOCATION_MAPPING,
					    (uint64_t)f->module + 1);
			protobuf_add_number(&w->message, OTLP_LOCATION_ADDRESS, f->address);
		}
		for (uint32_t k = f->nr_locations; k--;) {
			const struct profile_location *l = &p->locations[f->first_location + k];

			add_line(w, l->function, l->line);
		}
		if (!f->nr_locations)
			add_line(w, unnamed++, 0);
		protobuf_add_message(b, OTLP_LOCATION_TABLE, &w->message);
	}
}

static void add_stacks(struct writer *w, struct buffer *b)
{
	const struct profile *p = w->p;

	add_empty(b, OTLP_STACK_TABLE);
	for (size_t i = 0; i < p->nr_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];

		for (uint32_t k = s->nr_frames; k--;)
			buffer_add_varint(&w->inner,
					  (uint64_t)p->stack_frames[s->first_frame + k] + 1);
		if (w->inner.size)
			protobuf_add_message(&w->message, OTLP_STACK_LOCATIONS, &w->inner);
		protobuf_add_message(b, OTLP_STACK_TABLE, &w->message);
	}
}

static void add_dictionary(struct writer *w)
{
	struct buffer b = { 0 };

	add_mappings(w, &b);
	add_locations(w, &b);
	add_functions(w, &b);
	add_stacks(w, &b);
	add_empty(&b, OTLP_LINK_TABLE);
	add_empty(&b, OTLP_ATTRIBUTE_TABLE);
	buffer_add(&b, w->attributes.data, w->attributes.size);
	protobuf_add_strings(&b, OTLP_STRING_TABLE, w->strings->strings, w->strings->nr_strings);
	protobuf_add_message(w->b, OTLP_DICTIONARY, &b);
	buffer_fini(&b);
}

void otlp_write(struct buffer *b, const struct profile *p, const struct otlp_resource *resources,
		size_t nr_resources)
{
	struct writer w = {
		.p = p,
		.b = b,
		.strings = profile_new(),
		.nr_attributes = 1,
		.label_attributes = xcalloc(p->nr_strings + 1, sizeof(*w.label_attributes)),
		.thread_attributes = xcalloc(p->nr_threads + 1, sizeof(*w.thread_attributes)),
	};

	for (size_t i = 0; i < nr_resources; i++)
		add_resource_profiles(&w, &resources[i]);
	add_dictionary(&w);
	profile_free(w.strings);
	buffer_fini(&w.message);
	buffer_fini(&w.inner);
	buffer_fini(&w.text);
	buffer_fini(&w.attributes);
	free(w.thread_attributes);
	free(w.label_attributes);
}

/* A file is one resource: the host and the command that were recorded. */
static int write_file(struct buffer *b, const struct profile *p)
{
	const char *host = profile_str(p, p->meta.hostname);
	const char *command = profile_str(p, p->meta.command);
	struct otlp_attribute attributes[2];
	struct otlp_resource resource = { attributes, 0, p->samples, p->nr_samples };
	struct buffer raw = { 0 };

	if (*host)
		attributes[resource.nr_attributes++] =
			(struct otlp_attribute){ .key = "host.name", .text = host };
	if (*command)
		attributes[resource.nr_attributes++] =
			(struct otlp_attribute){ .key = "process.command_line", .text = command };
	otlp_write(&raw, p, &resource, 1);
	gzip_compress(b, raw.data, raw.size);
	buffer_fini(&raw);
	return 0;
}

const struct exporter export_otlp = {
	.name = "otlp",
	.suffix = ".otlp.gz",
	.help = "OpenTelemetry receivers: ProfilesData of opentelemetry-proto " OTLP_PROTO_VERSION,
	.write = write_file,
};
