/*
 * Writes what sprof info counted as one JSON object. sprof-info(1) documents the keys. Strings from
 * the recording are escaped.
 */
#include "cli/info/info_print.h"

#include <inttypes.h>
#include <time.h>

#include "cli/info/info.h"
#include "cli/info/info_cost.h"
#include "cli/info/info_gil.h"
#include "cli/info/info_labels.h"
#include "cli/info/info_tensors.h"
#include "cli/info/info_unhooked.h"
#include "cli/info/info_waits.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "core/segments/marks.h"
#include "core/segments/segments_read.h"
#include "output/export/chrome_gpu.h"
#include "output/text/text.h"

static const char *str(const struct profile *p, uint32_t id)
{
	return profile_str(p, id);
}

static void key_string(struct buffer *b, const char *key, const char *value)
{
	buffer_printf(b, ",\n  \"%s\": ", key);
	text_add_json(b, value);
}

static void key_number(struct buffer *b, const char *key, uint64_t value)
{
	buffer_printf(b, ",\n  \"%s\": %" PRIu64, key, value);
}

static void json_start(struct buffer *b, const struct profile *p)
{
	time_t start = (time_t)(p->meta.start_realtime_ns / 1000000000);
	char when[64];
	struct tm tm;

	if (!start || !gmtime_r(&start, &tm) ||
	    !strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm))
		*when = '\0';
	key_string(b, "start", when);
	buffer_printf(b, ",\n  \"duration_s\": %.6f", info_duration_s(p));
}

static void json_incomplete(struct buffer *b, const struct profile *p)
{
	const char *separator = "";

	buffer_add_string(b, ",\n  \"incomplete_by_reason\": [");
	for (int i = 0; i < NR_MARKERS; i++) {
		if (!p->stats.nr_incomplete[i])
			continue;
		buffer_printf(b, "%s\n    {\"reason\": ", separator);
		text_add_json(b, marker_name((enum marker)i));
		buffer_printf(b, ", \"samples\": %" PRIu64 "}", p->stats.nr_incomplete[i]);
		separator = ",";
	}
	buffer_add_string(b, "]");
}

static void json_columns(struct buffer *b, const struct profile *p, const struct info *info)
{
	static const char *const units[] = {
		[UNIT_NS] = "ns", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes"
	};
	const char *separator = "";

	buffer_add_string(b, ",\n  \"columns\": [");
	for (int i = 0; i < NR_COLUMNS; i++) {
		const struct info_column *column = &info->columns[i];

		if (!column->present)
			continue;
		buffer_printf(b,
			      "%s\n    {\"name\": \"%s\", \"unit\": \"%s\", \"sum\": %" PRIu64
			      ", \"events\": %" PRIu64 "}",
			      separator, column_info_of(p, (unsigned int)i)->name,
			      units[column_table[i].unit], column->sum, column->events);
		separator = ",";
	}
	buffer_add_char(b, ']');
}

static void json_gpu_timeline(struct buffer *b, const struct profile *p)
{
	size_t nr;

	facts_rows(p, FACT_GPU_ACTIVITY, &nr);
	buffer_printf(b, ",\n  \"gpu_timeline\": {\"activities\": %zu, \"left_out\": %" PRIu64 "}",
		      nr, chrome_gpu_left_out(p));
	buffer_add_string(b, ",\n  \"gpu_not_collected\": ");
	gpu_kinds_add_json(b, gpu_kinds_not_collected(p));
}

static void json_threads(struct buffer *b, const struct info *info, const struct profile *p)
{
	buffer_add_string(b, ",\n  \"threads\": [");
	for (size_t i = 0; i < info->nr_threads; i++) {
		const struct profile_thread *thread = &p->threads[info->threads[i].thread];

		buffer_printf(b,
			      "%s\n    {\"pid\": %" PRIu32 ", \"tid\": %" PRIu32
			      ", \"samples\": %" PRIu64 ", \"name\": ",
			      i ? "," : "", thread->pid, thread->tid, info->threads[i].nr_samples);
		text_add_json(b, str(p, thread->comm));
		text_add_json_field(b, ", \"host\": ", hosts_name(p, hosts_process(thread)));
		buffer_add_char(b, '}');
	}
	buffer_add_char(b, ']');
}

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[MODULE_ELF] = "file",	    [MODULE_VDSO] = "vdso", [MODULE_KERNEL] = "kernel",
		[MODULE_JIT] = "jit",	    [MODULE_MARKER] = "",   [MODULE_NAMED] = "",
		[MODULE_PYTHON] = "python",
	};

	return names[kind];
}

static void json_modules(struct buffer *b, const struct info *info, const struct profile *p)
{
	buffer_add_string(b, ",\n  \"modules\": [");
	for (size_t i = 0; i < info->nr_modules; i++) {
		const struct profile_module *module = &p->modules[info->modules[i].module];

		buffer_printf(b, "%s\n    {\"kind\": \"%s\", \"build_id\": \"", i ? "," : "",
			      kind_name(module->kind));
		info_add_build_id(b, module, 2 * module->build_id_size);
		buffer_printf(b,
			      "\", \"self_samples\": %" PRIu64 ", \"total_samples\": %" PRIu64
			      ", \"unnamed_samples\": %" PRIu64 ", \"path\": ",
			      info->modules[i].nr_self, info->modules[i].nr_total,
			      info->modules[i].nr_unnamed);
		text_add_json(b, str(p, module->path));
		buffer_add_char(b, '}');
	}
	buffer_add_char(b, ']');
}

static void json_derived_rules(struct buffer *b, const struct profile *p)
{
	size_t nr;
	const struct fact_derived_rules *rows = facts_rows(p, FACT_DERIVED_RULES, &nr);

	buffer_add_string(b, ",\n  \"derived_rules\": [");
	for (size_t i = 0; i < nr; i++) {
		buffer_printf(b, "%s\n    {\"functions\": %" PRIu64 ", \"path\": ", i ? "," : "",
			      rows[i].functions);
		text_add_json(b, str(p, (uint32_t)rows[i].path));
		buffer_add_char(b, '}');
	}
	buffer_add_char(b, ']');
}

static void json_limits(struct buffer *b, const struct profile *p)
{
	size_t nr;
	const struct fact_limit *rows = facts_rows(p, FACT_LIMIT, &nr);

	buffer_add_string(b, ",\n  \"limits\": [");
	for (size_t i = 0; i < nr; i++) {
		buffer_printf(b,
			      "%s\n    {\"limit\": %" PRIu64 ", \"times\": %" PRIu64 ", \"text\": ",
			      i ? "," : "", rows[i].limit, rows[i].count);
		text_add_json(b, str(p, (uint32_t)rows[i].text));
		buffer_add_char(b, '}');
	}
	buffer_add_char(b, ']');
}

static void json_marks(struct buffer *b, const struct segments_found *found)
{
	buffer_add_string(b, ",\n  \"marks\": [");
	for (size_t i = 0; i < found->nr_marks; i++) {
		buffer_printf(b, "%s{ \"realtime_ns\": %" PRIu64 ", \"text\": ", i ? ", " : "",
			      found->marks[i].realtime_ns);
		text_add_json(b, found->marks[i].text);
		buffer_add_string(b, " }");
	}
	buffer_add_string(b, "]");
}

void info_print_json(struct buffer *b, const struct info *info, const struct profile *p,
		     const struct info_file *file)
{
	const struct profile_meta *meta = &p->meta;
	const struct profile_stats *stats = &p->stats;

	buffer_add_string(b, "{\n  \"version\": 2");
	key_string(b, "file", file->path);
	key_number(b, "file_bytes", file->size_bytes);
	buffer_printf(b, ",\n  \"bytes_per_sample\": %.3f", info_bytes_per_sample(info, file));
	buffer_printf(b, ",\n  \"finished\": %s", meta->unfinished ? "false" : "true");
	key_string(b, "note", file->note);
	if (file->segments) {
		key_number(b, "segments", file->segments->nr);
		key_number(b, "segments_read", file->segments->nr_read);
		json_marks(b, file->segments);
	}
	json_start(b, p);
	key_string(b, "command", str(p, meta->command));
	key_string(b, "hostname", str(p, meta->hostname));
	key_string(b, "kernel", str(p, meta->kernel));
	key_number(b, "cpus", meta->nr_cpus);
	key_string(b, "source", str(p, meta->source));
	key_string(b, "event", str(p, meta->event));
	key_number(b, "frequency_hz", meta->freq_hz);
	buffer_printf(b, ",\n  \"reached_hz\": %.1f", info_reached_hz(info));
	key_string(b, info->recorder, info->recorder_version);
	info_cost_json(b, p);
	key_number(b, "samples", stats->nr_samples);
	key_number(b, "lost", stats->nr_lost);
	key_number(b, "incomplete", info->nr_incomplete);
	json_incomplete(b, p);
	key_number(b, "snapshots", stats->nr_snapshots);
	key_number(b, "throttled", stats->nr_throttled);
	key_number(b, "limits_hit", stats->nr_limits);
	json_limits(b, p);
	key_number(b, "unwind_rows", stats->nr_rows);
	key_number(b, "stacks", p->nr_stacks);
	key_number(b, "frames", p->nr_frames);
	key_number(b, "named_frames", info->nr_named_frames);
	key_number(b, "processes", info->nr_processes);
	json_columns(b, p, info);
	json_gpu_timeline(b, p);
	key_number(b, "gpu_processes_left_out", facts_count(p, COUNTER_PROCESS_LEFT_OUT));
	key_number(b, "runs_left_out", facts_count(p, COUNTER_RUNS_LEFT_OUT));
	key_number(b, "rows_left_out", p->nr_facts_left_out);
	key_number(b, "stacks_left_out", p->nr_stacks_left_out);
	info_gil_json(b, info);
	info_waits_json(b, p);
	info_tensors_json(b, p);
	info_unhooked_json(b, p);
	info_labels_json(b, p);
	json_threads(b, info, p);
	json_modules(b, info, p);
	json_derived_rules(b, p);
	buffer_add_string(b, "\n}\n");
}
