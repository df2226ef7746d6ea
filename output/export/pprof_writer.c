/*
 * Writes pprof: profile.proto of github.com/google/pprof, gzipped. Messages may come in any order,
 * so the samples are written first, which numbers the frames in use, then the tables, and the
 * strings last. Ids count from 1 in the order of the messages: Parca refuses others. The samples of
 * one stack, thread and labels become one message with a value per column; the format cannot hold
 * their times.
 */
#include "output/export/exporter.h"

#include <stdio.h>
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
#include "output/codec/pprof_fields.h"
#include "output/codec/protobuf.h"
#include "output/tree/ranking.h"
#include "output/export/stack_groups.h"
#include "output/text/text.h"

struct writer {
	const struct profile *p;
	struct buffer *b;
	struct profile *strings;	    /* interns the string table */
	struct buffer message, inner, text; /* scratch */
	bool columns[NR_COLUMNS];
	const char *type, *unit;		    /* of the column that is shown first */
	uint32_t *order;			    /* stack_groups_order() */
	uint32_t *location_of_frame, *function_ids; /* 0 = not in use */
	uint32_t *frames, *functions;		    /* in the order of their ids */
	uint32_t nr_frames, nr_functions;
	uint32_t *mapping_of_module;			 /* mapping id, 0 = none yet */
	uint32_t mapping_of_kind[NR_FUNCTION_KINDS + 1]; /* the last: imported inlined frames */
	uint32_t nr_mappings;
	uint64_t *last_address; /* by module: the highest in use */
};

static uint32_t part_id(struct writer *w, const char *s, size_t size)
{
	w->text.size = 0;
	text_add_clean(&w->text, s, size);
	return profile_string(w->strings, w->text.data, w->text.size);
}

static uint32_t string_id(struct writer *w, const char *s)
{
	return part_id(w, s, strlen(s));
}

static void add_value_type(struct writer *w, uint32_t field, const char *type, const char *unit)
{
	protobuf_add_number(&w->message, PPROF_VALUE_TYPE_TYPE, string_id(w, type));
	protobuf_add_number(&w->message, PPROF_VALUE_TYPE_UNIT, string_id(w, unit));
	protobuf_add_message(w->b, field, &w->message);
}

/* The types of values: for each column its unit, and before CPU time its number of samples. */
static void add_types(struct writer *w)
{
	const enum profile_column shown = column_default(w->p);

	w->type = NULL;
	for (unsigned int c = 0; c < NR_COLUMNS; c++) {
		const char *type = column_pprof_name(column_info_of(w->p, c));

		if (!w->columns[c])
			continue;
		if (c == COLUMN_CPU)
			add_value_type(w, PPROF_SAMPLE_TYPE, "samples", "count");
		add_value_type(w, PPROF_SAMPLE_TYPE, type, export_column_unit(c));
		if (!w->type || c == shown) {
			w->type = type;
			w->unit = export_column_unit(c);
		}
	}
	if (w->type) {
		protobuf_add_number(w->b, PPROF_DEFAULT_SAMPLE_TYPE, string_id(w, w->type));
		return;
	}
	w->type = w->unit = "count";
	add_value_type(w, PPROF_SAMPLE_TYPE, w->type, w->unit);
}

static void add_label(struct writer *w, const char *key, const char *string, uint64_t number)
{
	protobuf_add_number(&w->inner, PPROF_LABEL_KEY, string_id(w, key));
	if (string)
		protobuf_add_number(&w->inner, PPROF_LABEL_STR, string_id(w, string));
	else
		protobuf_add_number(&w->inner, PPROF_LABEL_NUM, number);
	protobuf_add_message(&w->message, PPROF_SAMPLE_LABEL, &w->inner);
}

/* The labels that a file of pprof brought along. */
static void add_own_labels(struct writer *w, uint32_t labels)
{
	const char *text = profile_str(w->p, labels);
	struct label l;

	while (labels_next(&text, &l)) {
		protobuf_add_number(&w->inner, PPROF_LABEL_KEY, part_id(w, l.key, l.key_size));
		if (l.unit) {
			protobuf_add_number(&w->inner, PPROF_LABEL_NUM, label_number(&l));
			protobuf_add_number(&w->inner, PPROF_LABEL_NUM_UNIT,
					    part_id(w, l.unit, l.unit_size));
		} else {
			protobuf_add_number(&w->inner, PPROF_LABEL_STR,
					    part_id(w, l.value, l.value_size));
		}
		protobuf_add_message(&w->message, PPROF_SAMPLE_LABEL, &w->inner);
	}
}

static void add_labels(struct writer *w, uint32_t thread)
{
	const struct profile_thread *t = &w->p->threads[thread];

	add_label(w, "thread", profile_str(w->p, t->comm), 0);
	add_label(w, "pid", NULL, t->pid);
	add_label(w, "tid", NULL, t->tid);
	if (w->p->has_hosts)
		add_label(w, "host", hosts_name(w->p, hosts_process(t)), 0);
}

static uint32_t location_id(struct writer *w, uint32_t frame)
{
	if (!w->location_of_frame[frame]) {
		w->frames[w->nr_frames] = frame;
		w->location_of_frame[frame] = ++w->nr_frames;
	}
	return w->location_of_frame[frame];
}

/* Writes the samples of one group, order[first] to order[end - 1], as one message. */
static void add_sample(struct writer *w, size_t first, size_t end)
{
	const struct profile_sample *samples = w->p->samples, *s = &samples[w->order[first]];
	const struct profile_stack *stack = &w->p->stacks[s->stack];
	uint64_t values[NR_COLUMNS] = { 0 }, nr_cpu = 0;

	for (size_t i = first; i < end; i++) {
		values[samples[w->order[i]].column] += samples[w->order[i]].weight;
		nr_cpu += samples[w->order[i]].column == COLUMN_CPU;
	}
	for (uint32_t i = stack->nr_frames; i--;) {
		uint32_t frame = w->p->stack_frames[stack->first_frame + i];

		buffer_add_varint(&w->inner, location_id(w, frame));
	}
	protobuf_add_message(&w->message, PPROF_SAMPLE_LOCATION_ID, &w->inner);
	for (unsigned int c = 0; c < NR_COLUMNS; c++) {
		if (!w->columns[c])
			continue;
		if (c == COLUMN_CPU)
			buffer_add_varint(&w->inner, nr_cpu);
		buffer_add_varint(&w->inner, values[c]);
	}
	protobuf_add_message(&w->message, PPROF_SAMPLE_VALUE, &w->inner);
	if (s->thread != PROFILE_NONE)
		add_labels(w, s->thread);
	add_own_labels(w, s->labels);
	protobuf_add_message(w->b, PPROF_SAMPLE, &w->message);
}

static void add_samples(struct writer *w)
{
	const struct profile *p = w->p;

	w->order = stack_groups_order(p);
	for (size_t first = 0, end; first < p->nr_samples; first = end) {
		end = stack_groups_end(p, w->order, first);
		add_sample(w, first, end);
	}
}

static uint8_t kind_of_module(const struct profile_module *m)
{
	switch (m->kind) {
	case MODULE_KERNEL: return FUNCTION_KERNEL;
	case MODULE_JIT: return FUNCTION_JIT;
	case MODULE_MARKER: return FUNCTION_MARKER;
	default: return FUNCTION_NATIVE;
	}
}

static void add_mapping(struct writer *w, const char *name, const struct profile_module *module,
			uint64_t limit)
{
	struct buffer *m = &w->message;

	protobuf_add_number(m, PPROF_MAPPING_ID, ++w->nr_mappings);
	protobuf_add_number(m, PPROF_MAPPING_LIMIT, limit);
	protobuf_add_number(m, PPROF_MAPPING_FILENAME, string_id(w, name));
	if (module && module->build_id_size) {
		struct buffer hex = { 0 };

		for (int i = 0; i < module->build_id_size; i++)
			buffer_printf(&hex, "%02x", module->build_id[i]);
		protobuf_add_number(m, PPROF_MAPPING_BUILD_ID, string_id(w, buffer_cstring(&hex)));
		buffer_fini(&hex);
	}
	/* Says that symbols are complete, so readers do not search for more. */
	for (uint32_t f = PPROF_MAPPING_HAS_FUNCTIONS; f <= PPROF_MAPPING_HAS_INLINE_FRAMES; f++)
		protobuf_add_number(m, f, 1);
	protobuf_add_message(w->b, PPROF_MAPPING, m);
}

/* The mapping for frames without a file, or of another kind than their module: 0 = none needed. */
static uint32_t kind_mapping(struct writer *w, unsigned int kind)
{
	char *name;

	if (kind == FUNCTION_NATIVE)
		return 0;
	if (!w->mapping_of_kind[kind]) {
		name = xasprintf("[%s]",
				 kind == NR_FUNCTION_KINDS ? "inlined" : ranking_kind_name(kind));
		add_mapping(w, name, NULL, 0);
		free(name);
		w->mapping_of_kind[kind] = w->nr_mappings;
	}
	return w->mapping_of_kind[kind];
}

static uint32_t module_mapping(struct writer *w, uint32_t module)
{
	uint64_t last = w->last_address[module];
	const struct profile_module *m = &w->p->modules[module];
	const char *path = profile_str(w->p, m->path);

	if (!w->mapping_of_module[module]) {
		char *name = m->kind == MODULE_JIT ? xasprintf("[jit:%u]", m->pid) : xstrdup(path);

		add_mapping(w, name, m, last > UINT64_MAX - 4096 ? UINT64_MAX : (last | 4095) + 1);
		free(name);
		w->mapping_of_module[module] = w->nr_mappings;
	}
	return w->mapping_of_module[module];
}

/* The mapping of a frame, 0 = none. *ret_address is 0 if the mapping has no addresses. */
static uint32_t mapping_of(struct writer *w, uint32_t frame, uint64_t *ret_address)
{
	const struct profile_frame *f = &w->p->frames[frame];
	const struct profile_module *m = &w->p->modules[f->module];
	const struct profile_location *l =
		f->nr_locations ? &w->p->locations[f->first_location] : NULL;
	uint8_t kind = l ? w->p->functions[l->function].kind : kind_of_module(m);

	*ret_address = 0;
	if (l && l->inlined && m->kind == MODULE_NAMED)
		return kind_mapping(w, NR_FUNCTION_KINDS);
	/* An unnamed frame, "libx.so+0x12", keeps its module. */
	if (m->kind == MODULE_NAMED || m->kind == MODULE_MARKER ||
	    (kind != kind_of_module(m) && kind != FUNCTION_UNKNOWN))
		return kind_mapping(w, kind);
	*ret_address = f->address;
	return module_mapping(w, f->module);
}

static void add_line(struct writer *w, uint64_t function, uint32_t line)
{
	protobuf_add_number(&w->inner, PPROF_LINE_FUNCTION_ID, function);
	protobuf_add_number(&w->inner, PPROF_LINE_LINE, line);
	protobuf_add_message(&w->message, PPROF_LOCATION_LINE, &w->inner);
}

/* `number`: that of a function, or the number of functions plus that of a marker's frame. */
static uint32_t function_id(struct writer *w, size_t number)
{
	if (!w->function_ids[number]) {
		w->functions[w->nr_functions] = (uint32_t)number;
		w->function_ids[number] = ++w->nr_functions;
	}
	return w->function_ids[number];
}

static void add_function(struct writer *w, uint64_t id, const char *name, const char *system_name,
			 const char *file, uint32_t line)
{
	protobuf_add_number(&w->message, PPROF_FUNCTION_ID, id);
	protobuf_add_number(&w->message, PPROF_FUNCTION_NAME,
			    string_id(w, *name ? name : "[empty name]"));
	protobuf_add_number(&w->message, PPROF_FUNCTION_SYSTEM_NAME, string_id(w, system_name));
	protobuf_add_number(&w->message, PPROF_FUNCTION_FILENAME, string_id(w, file));
	protobuf_add_number(&w->message, PPROF_FUNCTION_START_LINE, line);
	protobuf_add_message(w->b, PPROF_FUNCTION, &w->message);
}

/* An unnamed frame keeps its address and file. A marker becomes a function of that name. */
static void add_location(struct writer *w, uint32_t frame)
{
	const struct profile_frame *f = &w->p->frames[frame];
	uint64_t address;
	uint32_t mapping = mapping_of(w, frame, &address);

	protobuf_add_number(&w->message, PPROF_LOCATION_ID, w->location_of_frame[frame]);
	protobuf_add_number(&w->message, PPROF_LOCATION_MAPPING_ID, mapping);
	protobuf_add_number(&w->message, PPROF_LOCATION_ADDRESS, address);
	for (uint32_t i = f->nr_locations; i--;) {
		const struct profile_location *l = &w->p->locations[f->first_location + i];

		add_line(w, function_id(w, l->function), l->line);
	}
	if (!address && !f->nr_locations)
		add_line(w, function_id(w, w->p->nr_functions + frame), 0);
	protobuf_add_message(w->b, PPROF_LOCATION, &w->message);
}

/* Could it be a program? A library has ".so" in its name. */
static bool is_program(const struct profile *p, uint32_t module)
{
	return p->modules[module].kind == MODULE_ELF &&
	       !strstr(profile_str(p, p->modules[module].path), ".so");
}

/* Is it the file of the command that was recorded, "/usr/bin/x" of "./x -v"? */
static bool is_command(const struct profile *p, uint32_t module)
{
	const char *command = profile_str(p, p->meta.command);
	const char *name = path_base_name(profile_str(p, p->modules[module].path));
	size_t n = strcspn(command, " "), start = n;

	while (start && command[start - 1] != '/')
		start--;
	return n > start && strlen(name) == n - start && !strncmp(command + start, name, n - start);
}

/*
 * The module of the program: that of the command, else the one under which most samples lie. The
 * first sample can be of sprof itself, before it became the program. PROFILE_NONE: there is none.
 */
static uint32_t main_module(const struct profile *p)
{
	uint64_t *counts = xcalloc(p->nr_modules + 1, sizeof(*counts));
	uint32_t found = PROFILE_NONE;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_stack *s = &p->stacks[p->samples[i].stack];
		uint32_t module;

		if (!s->nr_frames)
			continue;
		module = p->frames[p->stack_frames[s->first_frame]].module;
		counts[module] += is_program(p, module);
	}
	for (uint32_t i = 0; i < p->nr_modules; i++) {
		if (!counts[i])
			continue;
		if (is_command(p, i)) {
			found = i;
			break;
		}
		if (found == PROFILE_NONE || counts[i] > counts[found])
			found = i;
	}
	free(counts);
	return found;
}

/* pprof names a profile after the first mapping, so that has to be the program. */
static void add_main_mapping(struct writer *w)
{
	uint32_t module = main_module(w->p);

	if (module != PROFILE_NONE)
		module_mapping(w, module);
	else
		add_mapping(w, "", NULL, 0); /* else a library would be the first */
}

static void add_functions(struct writer *w)
{
	const struct profile *p = w->p;

	for (uint32_t i = 0; i < w->nr_functions; i++) {
		char name[64];

		if (w->functions[i] < p->nr_functions) {
			const struct profile_function *f = &p->functions[w->functions[i]];

			add_function(w, (uint64_t)i + 1, profile_str(p, f->name),
				     profile_str(p, f->system_name), profile_str(p, f->file),
				     f->start_line);
			continue;
		}
		profile_frame_fallback_name(p, w->functions[i] - (uint32_t)p->nr_functions, name,
					    sizeof(name));
		add_function(w, (uint64_t)i + 1, name, name, "", 0);
	}
}

static void add_tables(struct writer *w)
{
	const struct profile *p = w->p;

	for (uint32_t i = 0; i < w->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[w->frames[i]];

		if (f->address > w->last_address[f->module])
			w->last_address[f->module] = f->address;
	}
	add_main_mapping(w);
	for (uint32_t i = 0; i < w->nr_frames; i++)
		add_location(w, w->frames[i]);
	add_functions(w);
}

static void add_comment(struct writer *w, const char *key, const char *value)
{
	char *comment;

	if (!*value)
		return;
	comment = xasprintf("%s=%s", key, value);
	buffer_add_varint(&w->inner, string_id(w, comment));
	free(comment);
}

static void add_meta(struct writer *w)
{
	const struct profile *p = w->p;
	const struct profile_meta *m = &p->meta;
	char lost[32] = "";

	protobuf_add_number(w->b, PPROF_TIME_NANOS, m->start_realtime_ns);
	if (m->end_ns > m->start_ns)
		protobuf_add_number(w->b, PPROF_DURATION_NANOS, m->end_ns - m->start_ns);
	if (m->freq_hz && w->columns[COLUMN_CPU]) {
		add_value_type(w, PPROF_PERIOD_TYPE, "cpu", "nanoseconds");
		protobuf_add_number(w->b, PPROF_PERIOD, 1000000000 / m->freq_hz);
	} else {
		/* Parca 0.28.0 crashes where there is none. */
		add_value_type(w, PPROF_PERIOD_TYPE, w->type, w->unit);
	}
	add_comment(w, "command", profile_str(p, m->command));
	add_comment(w, "hostname", profile_str(p, m->hostname));
	add_comment(w, "kernel", profile_str(p, m->kernel));
	add_comment(w, "source", profile_str(p, m->source));
	add_comment(w, "event", profile_str(p, m->event));
	if (p->stats.nr_lost)
		snprintf(lost, sizeof(lost), "%llu", (unsigned long long)p->stats.nr_lost);
	add_comment(w, "lost", lost);
	protobuf_add_message(w->b, PPROF_COMMENT, &w->inner);
}

static int write_pprof(struct buffer *b, const struct profile *p)
{
	const size_t nr_functions = p->nr_functions + p->nr_frames;
	struct buffer raw = { 0 };
	struct writer w = {
		.p = p,
		.b = &raw,
		.strings = profile_new(),
		.location_of_frame = xcalloc(p->nr_frames + 1, sizeof(*w.location_of_frame)),
		.frames = xcalloc(p->nr_frames + 1, sizeof(*w.frames)),
		.function_ids = xcalloc(nr_functions + 1, sizeof(*w.function_ids)),
		.functions = xcalloc(nr_functions + 1, sizeof(*w.functions)),
		.mapping_of_module = xcalloc(p->nr_modules + 1, sizeof(*w.mapping_of_module)),
		.last_address = xcalloc(p->nr_modules + 1, sizeof(*w.last_address)),
	};

	columns_present(p, w.columns);
	add_types(&w);
	add_samples(&w);
	add_tables(&w);
	add_meta(&w);
	protobuf_add_strings(w.b, PPROF_STRING_TABLE, w.strings->strings, w.strings->nr_strings);
	gzip_compress(b, raw.data, raw.size);
	profile_free(w.strings);
	buffer_fini(&raw);
	buffer_fini(&w.message);
	buffer_fini(&w.inner);
	buffer_fini(&w.text);
	free(w.order);
	free(w.location_of_frame);
	free(w.frames);
	free(w.function_ids);
	free(w.functions);
	free(w.mapping_of_module);
	free(w.last_address);
	return 0;
}

const struct exporter export_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.help = "go tool pprof, Pyroscope, Parca, Speedscope, Perfetto: every column, threads as "
		"labels",
	.write = write_pprof,
};
