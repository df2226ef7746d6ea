/*
 * Writes a "processed profile" of the Firefox Profiler, format version 48; newer viewers upgrade
 * it. Every thread has its own tables of functions, frames (a function at a line), stacks (a frame
 * on top of another stack) and strings, and a table is stored as one array per field. The versions
 * of the format are described in docs-developer/CHANGELOG-formats.md of
 * github.com/firefox-devtools/profiler.
 */
#include "output/export/exporter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/hosts.h"
#include "core/profile/intern.h"
#include "output/tree/naming.h"
#include "output/tree/ranking.h"
#include "output/text/text.h"
#include "output/export/thread_tracks.h"

#define NONE INT64_C(-1) /* null */

enum { FORMAT_VERSION = 48, GECKO_VERSION = 30 };

/* A row of any table is identified by up to three numbers. */
struct row {
	uint32_t key[3];
};

struct rows {
	struct row *rows;
	size_t nr, capacity;
	struct intern index;
};

struct writer {
	const struct profile *p;
	struct buffer *b;
	struct tree_functions names;
	uint32_t *lib_of;     /* by function: index in libs + 1, 0 = in no library */
	struct profile *libs; /* interns the libraries: its strings from 1 on */
	/* Tables of the current track: */
	struct rows functions; /* { function } */
	struct rows frames;    /* { row of functions, line, inline depth } */
	struct rows stacks;    /* { row of frames, row of stacks + 1 or 0 } */
	struct rows resources; /* { library } */
	struct profile *strings;
};

static bool row_equal(const void *owner, uint32_t id, const void *key)
{
	const struct rows *t = owner;

	return !memcmp(&t->rows[id], key, sizeof(t->rows[id]));
}

static uint32_t row(struct rows *t, uint32_t a, uint32_t b, uint32_t c)
{
	struct row r = { { a, b, c } };
	uint32_t id = intern_id(&t->index, (uint32_t)XXH3_64bits(&r, sizeof(r)), (uint32_t)t->nr,
				row_equal, t, &r);

	if (id == t->nr) {
		t->rows = xgrow(t->rows, &t->capacity, t->nr + 1, sizeof(*t->rows));
		t->rows[t->nr++] = r;
	}
	return id;
}

static void rows_fini(struct rows *t)
{
	free(t->rows);
	intern_fini(&t->index);
	*t = (struct rows){ 0 };
}

/* Returns the row of stacks + 1; 0 for the empty stack. */
static uint32_t add_stack(struct writer *w, uint32_t stack)
{
	struct naming_walk at = { .p = w->p, .names = &w->names, .stack = &w->p->stacks[stack] };
	uint32_t last = 0;

	while (naming_next(&at)) {
		uint32_t function = row(&w->functions, FRAME_FUNCTION(at.code), 0, 0);

		last = row(&w->stacks, row(&w->frames, function, at.line, at.index), last, 0) + 1;
	}
	return last;
}

static const struct tree_function *function_of(const struct writer *w, uint32_t frame_row)
{
	return &w->names.list[w->functions.rows[w->frames.rows[frame_row].key[0]].key[0]];
}

static uint32_t string_of(struct writer *w, const char *s)
{
	struct buffer clean = { 0 };
	uint32_t id;

	text_add_clean(&clean, s, strlen(s));
	id = profile_string(w->strings, clean.data, clean.size);
	buffer_fini(&clean);
	return id;
}

/* "name":[v, v, ...], with `nr` values; -1 is null. */
static void add_array(struct writer *w, const char *name, size_t nr,
		      int64_t (*value)(struct writer *w, size_t i))
{
	buffer_printf(w->b, "\"%s\":[", name);
	for (size_t i = 0; i < nr; i++) {
		int64_t v = value(w, i);

		if (i)
			buffer_add_char(w->b, ',');
		if (v == NONE)
			buffer_add_string(w->b, "null");
		else
			buffer_printf(w->b, "%" PRId64, v);
	}
	buffer_add_string(w->b, "],");
}

static int64_t value_null(struct writer *w, size_t i)
{
	(void)w;
	(void)i;
	return NONE;
}

static int64_t value_zero(struct writer *w, size_t i)
{
	(void)w;
	(void)i;
	return 0;
}

static int64_t stack_prefix(struct writer *w, size_t i)
{
	return (int64_t)w->stacks.rows[i].key[1] - 1;
}

static int64_t stack_frame(struct writer *w, size_t i)
{
	return w->stacks.rows[i].key[0];
}

static int64_t stack_category(struct writer *w, size_t i)
{
	return function_of(w, w->stacks.rows[i].key[0])->kind;
}

static int64_t frame_category(struct writer *w, size_t i)
{
	return function_of(w, (uint32_t)i)->kind;
}

static int64_t frame_function(struct writer *w, size_t i)
{
	return w->frames.rows[i].key[0];
}

static int64_t frame_line(struct writer *w, size_t i)
{
	return w->frames.rows[i].key[1] ? w->frames.rows[i].key[1] : NONE;
}

static int64_t frame_inline_depth(struct writer *w, size_t i)
{
	return w->frames.rows[i].key[2];
}

static int64_t function_name(struct writer *w, size_t i)
{
	return string_of(w, w->names.list[w->functions.rows[i].key[0]].name);
}

static int64_t function_file(struct writer *w, size_t i)
{
	const char *file = w->names.list[w->functions.rows[i].key[0]].file;

	return *file ? string_of(w, file) : NONE;
}

static int64_t function_line(struct writer *w, size_t i)
{
	uint32_t line = w->names.list[w->functions.rows[i].key[0]].line;

	return line ? line : NONE;
}

static int64_t resource_lib(struct writer *w, size_t i)
{
	return (int64_t)w->resources.rows[i].key[0] - 1;
}

static int64_t resource_name(struct writer *w, size_t i)
{
	return string_of(w, profile_str(w->libs, w->resources.rows[i].key[0]));
}

/* In this array "none" is -1, not null. */
static void add_function_resources(struct writer *w)
{
	buffer_add_string(w->b, "\"resource\":[");
	for (size_t i = 0; i < w->functions.nr; i++) {
		uint32_t lib = w->lib_of[w->functions.rows[i].key[0]];

		buffer_printf(w->b, "%s%d", i ? "," : "",
			      lib ? (int)row(&w->resources, lib, 0, 0) : -1);
	}
	buffer_add_string(w->b, "],");
}

static void add_bools(struct writer *w, const char *name)
{
	buffer_printf(w->b, "\"%s\":[", name);
	for (size_t i = 0; i < w->functions.nr; i++)
		buffer_add_string(w->b, i ? ",false" : "false");
	buffer_add_string(w->b, "],");
}

static void add_tables(struct writer *w)
{
	struct buffer *b = w->b;
	size_t nr = w->stacks.nr;

	buffer_add_string(b, "\"stackTable\":{");
	add_array(w, "prefix", nr, stack_prefix);
	add_array(w, "frame", nr, stack_frame);
	add_array(w, "category", nr, stack_category);
	add_array(w, "subcategory", nr, value_zero);
	buffer_printf(b, "\"length\":%zu},\n\"frameTable\":{\"address\":[", nr);
	nr = w->frames.nr;
	for (size_t i = 0; i < nr; i++)
		buffer_add_string(b, i ? ",-1" : "-1");
	buffer_add_string(b, "],");
	add_array(w, "inlineDepth", nr, frame_inline_depth);
	add_array(w, "category", nr, frame_category);
	add_array(w, "subcategory", nr, value_zero);
	add_array(w, "func", nr, frame_function);
	add_array(w, "nativeSymbol", nr, value_null);
	add_array(w, "innerWindowID", nr, value_zero);
	add_array(w, "implementation", nr, value_null);
	add_array(w, "line", nr, frame_line);
	add_array(w, "column", nr, value_null);
	buffer_printf(b, "\"length\":%zu},\n\"funcTable\":{", nr);
	nr = w->functions.nr;
	add_array(w, "name", nr, function_name);
	add_bools(w, "isJS");
	add_bools(w, "relevantForJS");
	add_function_resources(w);
	add_array(w, "fileName", nr, function_file);
	add_array(w, "lineNumber", nr, function_line);
	add_array(w, "columnNumber", nr, value_null);
	buffer_printf(b, "\"length\":%zu},\n\"resourceTable\":{", nr);
	nr = w->resources.nr;
	add_array(w, "lib", nr, resource_lib);
	add_array(w, "name", nr, resource_name);
	add_array(w, "host", nr, value_null);
	buffer_add_string(b, "\"type\":[");
	for (size_t i = 0; i < nr; i++)
		buffer_add_string(b, i ? ",1" : "1"); /* a library */
	buffer_printf(b, "],\"length\":%zu},\n", nr);
	buffer_add_string(b, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			     "\"functionSize\":[],\"length\":0},\n\"stringArray\":[");
	for (size_t i = 0; i < w->strings->nr_strings; i++) {
		buffer_add_string(b, i ? "," : "");
		text_add_json(b, w->strings->strings[i]);
	}
	buffer_add_string(b, "]");
}

/* Writes ns as milliseconds, exactly. */
static void add_ms(struct buffer *b, uint64_t ns)
{
	buffer_printf(b, "%" PRIu64 ".%06u", ns / 1000000, (unsigned int)(ns % 1000000));
}

static uint64_t time_of(const struct writer *w, const struct profile_sample *s)
{
	return s->time_ns > w->p->meta.start_ns ? s->time_ns - w->p->meta.start_ns : 0;
}

/* The CPU time of each sample: the viewer draws it as the activity of the thread. */
static void add_cpu_deltas(struct writer *w, const uint32_t *samples, size_t nr)
{
	buffer_add_string(w->b, "],\n\"threadCPUDelta\":[");
	for (size_t i = 0; i < nr; i++) {
		buffer_add_string(w->b, i ? "," : "");
		buffer_add_u64(w->b, w->p->samples[samples[i]].weight);
	}
}

static void add_samples(struct writer *w, const struct timeline *timeline, const struct track *t)
{
	static const char *const types[] = {
		[UNIT_NS] = "tracing-ms",
		[UNIT_COUNT] = "samples",
		[UNIT_BYTES] = "bytes",
	};
	uint8_t unit = column_table[t->column].unit;
	const uint32_t *samples = timeline->samples + t->first;

	buffer_add_string(w->b, "\"samples\":{\"stack\":[");
	for (size_t i = 0; i < t->nr; i++) {
		uint32_t stack = add_stack(w, w->p->samples[samples[i]].stack);

		buffer_add_string(w->b, i ? "," : "");
		if (stack)
			buffer_add_u64(w->b, stack - 1);
		else
			buffer_add_string(w->b, "null");
	}
	buffer_add_string(w->b, "],\n\"time\":[");
	for (size_t i = 0; i < t->nr; i++) {
		buffer_add_string(w->b, i ? "," : "");
		add_ms(w->b, time_of(w, &w->p->samples[samples[i]]));
	}
	buffer_add_string(w->b, "],\n\"weight\":[");
	for (size_t i = 0; i < t->nr; i++) {
		buffer_add_string(w->b, i ? "," : "");
		if (unit == UNIT_NS)
			add_ms(w->b, w->p->samples[samples[i]].weight);
		else
			buffer_add_u64(w->b, w->p->samples[samples[i]].weight);
	}
	if (t->column == COLUMN_CPU)
		add_cpu_deltas(w, samples, t->nr);
	buffer_printf(w->b, "],\"weightType\":\"%s\",\"length\":%zu},\n", types[unit], t->nr);
}

static void add_thread_head(struct writer *w, const struct timeline *timeline, size_t number)
{
	const struct track *t = &timeline->tracks[number];
	const struct profile_thread *thread =
		t->thread == PROFILE_NONE ? NULL : &w->p->threads[t->thread];
	const char *comm = thread ? profile_str(w->p, thread->comm) : "all";
	struct buffer name = { 0 }, process = { 0 };

	buffer_add_string(&name, comm);
	buffer_printf(&process, "%s%s%s", t->process ? profile_str(w->p, t->process) : comm,
		      hosts_joint(t->host), t->host);
	if (t->column != COLUMN_CPU && t->column != COLUMN_COUNT)
		buffer_printf(&name, " (%s)", column_info_of(w->p, t->column)->name);
	text_add_json_field(
		w->b, "{\"processType\":\"default\",\"processName\":", buffer_cstring(&process));
	text_add_json_field(w->b, ",\"name\":", buffer_cstring(&name));
	buffer_printf(w->b, ",\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%u,\n",
		      thread && thread->pid == thread->tid ? "true" : "false", t->pid,
		      thread ? thread->tid : 0);
	buffer_add_string(w->b,
			  "\"processStartupTime\":0,\"processShutdownTime\":null,"
			  "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n"
			  "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
			  "\"phase\":[],\"category\":[],\"length\":0},\n");
	buffer_fini(&process);
	buffer_fini(&name);
}

static void add_track(struct writer *w, const struct timeline *timeline, size_t number)
{
	w->strings = profile_new();
	add_thread_head(w, timeline, number);
	add_samples(w, timeline, &timeline->tracks[number]);
	add_tables(w);
	buffer_add_char(w->b, '}');
	profile_free(w->strings);
	rows_fini(&w->functions);
	rows_fini(&w->frames);
	rows_fini(&w->stacks);
	rows_fini(&w->resources);
}

static void add_libs(struct writer *w)
{
	w->lib_of = xcalloc(w->names.nr, sizeof(*w->lib_of));
	for (size_t i = 0; i < w->names.nr; i++)
		w->lib_of[i] = profile_cstring(w->libs, w->names.list[i].module);
	buffer_add_string(w->b, "\"libs\":[");
	for (size_t i = 1; i < w->libs->nr_strings; i++) {
		static const char *const keys[] = { "name", "path", "debugName", "debugPath" };

		buffer_add_string(w->b, i > 1 ? ",\n{" : "\n{");
		for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
			buffer_printf(w->b, "\"%s\":", keys[k]);
			text_add_json(w->b, w->libs->strings[i]);
			buffer_add_char(w->b, ',');
		}
		buffer_add_string(w->b, "\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":null}");
	}
	buffer_add_string(w->b, "],\n");
}

/* The viewer knows these colours by name. */
static void add_categories(struct writer *w)
{
	static const char *const colors[NR_FUNCTION_KINDS] = {
		[FUNCTION_NATIVE] = "blue",  [FUNCTION_KERNEL] = "orange",
		[FUNCTION_JIT] = "yellow",   [FUNCTION_MARKER] = "grey",
		[FUNCTION_THREAD] = "grey",  [FUNCTION_PYTHON] = "green",
		[FUNCTION_GPU] = "purple",   [FUNCTION_RANGE] = "magenta",
		[FUNCTION_UNKNOWN] = "grey", [FUNCTION_WAIT] = "lightblue",
	};

	buffer_add_string(w->b, "\"categories\":[");
	for (uint8_t i = 0; i < NR_FUNCTION_KINDS; i++)
		buffer_printf(w->b,
			      "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			      i ? "," : "", ranking_kind_name(i), colors[i]);
	buffer_add_string(w->b, "],\n");
}

static void add_meta(struct writer *w, const struct timeline *timeline)
{
	const struct profile_meta *m = &w->p->meta;

	buffer_add_string(w->b, "{\"meta\":{\"interval\":");
	add_ms(w->b, m->freq_hz ? 1000000000 / m->freq_hz : 1000000);
	buffer_add_string(w->b, ",\"startTime\":");
	add_ms(w->b, m->start_realtime_ns);
	text_add_json_field(w->b, ",\"product\":",
			    *profile_str(w->p, m->command) ? profile_str(w->p, m->command)
							   : "sprof");
	buffer_printf(w->b,
		      ",\"processType\":0,\"stackwalk\":1,\"debug\":0,\"version\":%d,"
		      "\"preprocessedProfileVersion\":%d,\n",
		      GECKO_VERSION, FORMAT_VERSION);
	add_categories(w);
	buffer_add_string(w->b, "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
				"\"threadCPUDelta\":\"ns\"},");
	if (timeline->nr_tracks)
		buffer_printf(w->b, "\"initialSelectedThreads\":[%zu],",
			      timeline_busiest(timeline));
	buffer_add_string(w->b,
			  "\"markerSchema\":[],\"symbolicated\":true,"
			  "\"importedFrom\":\"sprof " SPROF_VERSION "\","
			  "\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,"
			  "\"sourceCodeIsNotOnSearchfox\":true},\n");
}

static int write_firefox(struct buffer *b, const struct profile *p)
{
	struct writer w = { .p = p, .b = b, .libs = profile_new() };
	struct timeline timeline;
	int err = timeline_init(&timeline, p);

	if (err) {
		profile_free(w.libs);
		return err;
	}
	naming_init(&w.names, p);
	add_meta(&w, &timeline);
	add_libs(&w);
	buffer_add_string(b, "\"pages\":[],\"counters\":[],\n\"threads\":[");
	for (size_t i = 0; i < timeline.nr_tracks; i++) {
		buffer_add_string(b, i ? ",\n" : "\n");
		add_track(&w, &timeline, i);
	}
	buffer_add_string(b, "\n]}\n");
	profile_free(w.libs);
	free(w.lib_of);
	tree_functions_fini(&w.names);
	timeline_fini(&timeline);
	return 0;
}

const struct exporter export_firefox = {
	.name = "firefox",
	.suffix = ".profile.json",
	.help = "profiler.firefox.com: a timeline of every thread",
	.write = write_firefox,
};
