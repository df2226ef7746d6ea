/*
 * Writes what sprof info counted as text: lines of "label value" first, then tables of columns,
 * threads and modules. Strings from the recording are cleaned before they are printed.
 */
#include "cli/info/info_print.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/info/info.h"
#include "cli/info/info_cost.h"
#include "cli/info/info_gil.h"
#include "cli/info/info_label.h"
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
#include "output/insight/gpu_estimates.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/text/text.h"

#define MAX_ROWS 15 /* rows of threads and of modules in the text */

static const char *str(const struct profile *p, uint32_t id)
{
	return profile_str(p, id);
}

static void add_clean(struct buffer *b, const char *s)
{
	text_add_clean(b, s, strlen(s));
}

double info_bytes_per_sample(const struct info *info, const struct info_file *file)
{
	return info->nr_samples ? (double)file->size_bytes / (double)info->nr_samples : 0;
}

void info_add_build_id(struct buffer *b, const struct profile_module *module, int nr)
{
	for (int i = 0; i < module->build_id_size && 2 * i < nr; i++)
		buffer_printf(b, "%02x", module->build_id[i]);
}

static void add_size(struct buffer *b, uint64_t bytes)
{
	if (bytes < 10 * 1024)
		buffer_printf(b, "%" PRIu64 " bytes", bytes);
	else if (bytes < 10 * 1024 * 1024)
		buffer_printf(b, "%.1f KiB", (double)bytes / 1024);
	else
		buffer_printf(b, "%.1f MiB", (double)bytes / (1024 * 1024));
}

static void add_file(struct buffer *b, const struct info *info, const struct info_file *file)
{
	info_label(b, "file");
	add_clean(b, file->path);
	if (file->size_bytes) {
		buffer_add_string(b, ", ");
		add_size(b, file->size_bytes);
		if (info->nr_samples)
			buffer_printf(b, ", %.1f bytes per sample",
				      info_bytes_per_sample(info, file));
	}
	buffer_add_char(b, '\n');
}

static void add_frequency(struct buffer *b, const struct info *info, uint32_t asked_hz)
{
	double reached = info_reached_hz(info);

	if (!asked_hz)
		return;
	buffer_printf(info_label(b, "frequency"), "%" PRIu32 " Hz", asked_hz);
	if (reached > 0 && reached < 0.9 * asked_hz)
		buffer_printf(b, " requested, %.0f Hz reached: each sample has more weight",
			      reached);
	buffer_add_char(b, '\n');
}

static void add_origin(struct buffer *b, const struct info *info, const struct profile *p)
{
	const struct profile_meta *meta = &p->meta;
	time_t start = (time_t)(meta->start_realtime_ns / 1000000000);
	char when[64];
	struct tm tm;

	if (start && localtime_r(&start, &tm) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &tm))
		buffer_printf(info_label(b, "recorded"), "%s, for %.1f s\n", when,
			      info_duration_s(p));
	info_line(b, "command", str(p, meta->command));
	info_line(b, "host", str(p, meta->hostname));
	info_line(b, "kernel", str(p, meta->kernel));
	if (meta->nr_cpus)
		buffer_printf(info_label(b, "CPUs"), "%" PRIu32 "\n", meta->nr_cpus);
	info_line(b, "source", str(p, meta->source));
	info_line(b, "event", str(p, meta->event));
	add_frequency(b, info, meta->freq_hz);
	info_rates_text(b, p);
	info_cost_text(b, p);
	info_line(b, info->recorder, info->recorder_version);
}

/* Says why stacks are incomplete, below the line that counts them. */
static void add_reasons(struct buffer *b, const struct profile_stats *stats)
{
	static const struct grid_column columns[] = { { NULL, "", false }, { NULL, "", true } };
	struct grid g;

	grid_init(&g, columns, 2);
	g.indent = INFO_LABEL_WIDTH;
	for (int i = 0; i < NR_MARKERS; i++) {
		if (!stats->nr_incomplete[i])
			continue;
		grid_count(&g, stats->nr_incomplete[i]);
		grid_text(&g, marker_name((enum marker)i));
	}
	grid_write_text(b, &g, 0);
	grid_fini(&g);
}

static void add_samples(struct buffer *b, const struct info *info, const struct profile *p)
{
	const struct profile_stats *stats = &p->stats;
	const struct {
		const char *label, *what;
		uint64_t nr;
	} others[] = {
		{ "snapshots", "stacks unwound later from a copy of the stack",
		  stats->nr_snapshots },
		{ "throttled", "times by the kernel: samples are missing", stats->nr_throttled },
		{ "limits", "times a table was full", stats->nr_limits },
		{ "unwinding", "rows loaded", stats->nr_rows },
	};

	buffer_add_char(b, '\n');
	buffer_printf(info_label(b, "samples"), "%" PRIu64 "\n", stats->nr_samples);
	buffer_printf(info_label(b, "lost"), "%" PRIu64, stats->nr_lost);
	if (stats->nr_lost) {
		uint64_t taken;

		if (__builtin_add_overflow(stats->nr_samples, stats->nr_lost, &taken))
			taken = UINT64_MAX;
		buffer_add_string(b, " (");
		number_add_percent(b, stats->nr_lost, taken);
		buffer_add_char(b, ')');
	}
	buffer_add_char(b, '\n');
	buffer_printf(info_label(b, "incomplete"), "%" PRIu64, info->nr_incomplete);
	if (info->nr_incomplete) {
		buffer_add_string(b, " (");
		number_add_percent(b, info->nr_incomplete, stats->nr_samples);
		buffer_add_string(b, "): stacks that were not walked to the root");
	}
	buffer_add_char(b, '\n');
	add_reasons(b, stats);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (others[i].nr)
			buffer_printf(info_label(b, others[i].label), "%" PRIu64 " %s\n",
				      others[i].nr, others[i].what);
	}
	buffer_printf(info_label(b, "frames"),
		      "%zu, %" PRIu64 " of them with a name, in %zu stacks\n", p->nr_frames,
		      info->nr_named_frames, p->nr_stacks);
}

static void begin_table(struct grid *g, const struct grid_column *columns, size_t nr,
			const struct info_file *file)
{
	grid_init(g, columns, nr);
	g->max_width = file->columns;
	g->unicode = file->unicode;
}

/* Writes the table, which has at most MAX_ROWS of `nr` rows, and says how many are left out. */
static void end_table(struct buffer *b, struct grid *g, size_t nr)
{
	grid_write_text(b, g, 0);
	if (nr > MAX_ROWS)
		buffer_printf(b, "...  and %zu more: --json lists all\n", nr - MAX_ROWS);
	grid_fini(g);
}

static void add_columns(struct buffer *b, const struct profile *p, const struct info *info,
			const struct info_file *file)
{
	static const struct grid_column columns[] = {
		{ NULL, "column", true },
		{ NULL, "sum", false },
		{ NULL, "counted", true },
	};
	struct grid g;

	begin_table(&g, columns, 3, file);
	for (int i = 0; i < NR_COLUMNS; i++) {
		const struct info_column *column = &info->columns[i];

		if (!column->present)
			continue;
		grid_text(&g, column_info_of(p, (unsigned int)i)->name);
		grid_value(&g, i, column->sum);
		buffer_printf(
			grid_cell(&g), "%" PRIu64 " %s", column->events,
			column_events_name(column_info_of(p, (unsigned int)i), column->events));
	}
	buffer_add_char(b, '\n');
	end_table(b, &g, 0);
}

/* Says which tables were full, and what that did to the recording. */
static void add_limits(struct buffer *b, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ NULL, "times", false },
		{ NULL, "limit", true },
	};
	size_t nr;
	const struct fact_limit *rows = facts_rows(p, FACT_LIMIT, &nr);
	struct grid g;

	if (!nr)
		return;
	buffer_add_string(b, "\nLimits that were hit\n");
	grid_init(&g, columns, 2);
	for (size_t i = 0; i < nr; i++) {
		grid_count(&g, rows[i].count);
		text_add_line(grid_cell(&g), str(p, (uint32_t)rows[i].text));
	}
	end_table(b, &g, 0);
}

/* Says how many activities of GPUs the recording holds one by one. */
static void add_gpu_timeline(struct buffer *b, const struct profile *p)
{
	uint64_t left_out = chrome_gpu_left_out(p);
	size_t nr;

	facts_rows(p, FACT_GPU_ACTIVITY, &nr);
	if (!nr && !left_out)
		return;
	buffer_printf(b, "\nGPU timeline: %zu activities", nr);
	if (left_out)
		buffer_printf(b, ", and %" PRIu64 " left out of it (record --gpu-timeline)",
			      left_out);
	buffer_add_char(b, '\n');
}

static void add_gpu_kinds(struct buffer *b, const struct profile *p)
{
	uint64_t missing = gpu_kinds_not_collected(p);

	if (!missing)
		return;
	buffer_add_string(b, "\nGPU work that was not collected (record --gpu-kinds): ");
	gpu_kinds_add(b, missing);
	buffer_add_char(b, '\n');
}

static void add_gpu_levels(struct buffer *b, const struct profile *p)
{
	size_t nr;

	facts_rows(p, FACT_GPU_LEVEL, &nr);
	if (!nr)
		return;
	buffer_add_string(b, "\nGPU collection, limited by --max-overhead:\n");
	gpu_levels_add(b, p);
}

/* Says how many rows the recorder, or the reader of the recording, had no room for. */
static void add_left_out_rows(struct buffer *b, const struct profile *p)
{
	uint64_t runs = facts_count(p, COUNTER_RUNS_LEFT_OUT);

	if (runs)
		buffer_printf(b,
			      "\n%" PRIu64
			      " runs of ranges are left out, and counted in the sums only\n",
			      runs);
	if (p->nr_facts_left_out)
		buffer_printf(b,
			      "\n%" PRIu64 " rows of tables of GPU work and ranges are left out\n",
			      p->nr_facts_left_out);
}

static void add_left_out_processes(struct buffer *b, const struct profile *p)
{
	uint64_t nr = facts_count(p, COUNTER_PROCESS_LEFT_OUT);

	if (nr)
		buffer_printf(b,
			      "\nGPU work of %" PRIu64 " process%s is left out: --gpu-processes\n",
			      nr, nr == 1 ? "" : "es");
}

static void add_threads(struct buffer *b, const struct info *info, const struct profile *p,
			const struct info_file *file)
{
	static const struct grid_column columns[] = {
		{ NULL, "samples", false }, { NULL, "pid", false }, { NULL, "tid", false },
		{ NULL, "name", true },	    { NULL, "host", true },
	};
	const size_t nr_columns = p->has_hosts ? 5 : 4;
	struct grid g;

	if (!info->nr_threads)
		return;
	buffer_printf(b, "\n%zu thread%s in %" PRIu32 " process%s\n", info->nr_threads,
		      info->nr_threads == 1 ? "" : "s", info->nr_processes,
		      info->nr_processes == 1 ? "" : "es");
	begin_table(&g, columns, nr_columns, file);
	for (size_t i = 0; i < info->nr_threads && i < MAX_ROWS; i++) {
		const struct profile_thread *thread = &p->threads[info->threads[i].thread];

		grid_share(&g, info->threads[i].nr_samples, info->nr_samples);
		grid_count(&g, thread->pid);
		grid_count(&g, thread->tid);
		grid_text(&g, str(p, thread->comm));
		if (p->has_hosts)
			grid_text(&g, hosts_name(p, hosts_process(thread)));
	}
	end_table(b, &g, info->nr_threads);
}

/*
 * Returns the samples whose innermost frame is unnamed. *ret_in_files: those in ELF files, which
 * debug packages can name.
 */
static uint64_t count_unnamed(const struct info *info, const struct profile *p,
			      uint64_t *ret_in_files)
{
	uint64_t nr = 0;

	*ret_in_files = 0;
	for (size_t i = 0; i < info->nr_modules; i++) {
		const struct info_module *m = &info->modules[i];

		nr += m->nr_unnamed;
		*ret_in_files += p->modules[m->module].kind == MODULE_ELF ? m->nr_unnamed : 0;
	}
	return nr;
}

static void add_modules(struct buffer *b, const struct info *info, const struct profile *p,
			const struct info_file *file)
{
	static const struct grid_column columns[] = {
		{ NULL, "self", false },     { NULL, "total", false }, { NULL, "unnamed", false },
		{ NULL, "build-id", false }, { NULL, "file", true },
	};
	/* A whole build-id would leave no room for the file name; 12 digits tell files apart. */
	const int digits = file->columns && file->columns < 100 ? 12 : 40;
	uint64_t nr_in_files;
	const uint64_t nr_unnamed = count_unnamed(info, p, &nr_in_files);
	struct grid g;

	if (!info->nr_modules)
		return;
	buffer_printf(b, "\n%zu module%s\n", info->nr_modules, info->nr_modules == 1 ? "" : "s");
	begin_table(&g, columns, 5, file);
	for (size_t i = 0; i < info->nr_modules && i < MAX_ROWS; i++) {
		const struct info_module *m = &info->modules[i];
		const struct profile_module *module = &p->modules[m->module];

		grid_share(&g, m->nr_self, info->nr_samples);
		grid_share(&g, m->nr_total, info->nr_samples);
		if (nr_unnamed)
			grid_share(&g, m->nr_unnamed, info->nr_samples);
		else
			grid_cell(&g);
		if (module->build_id_size)
			info_add_build_id(grid_cell(&g), module, digits);
		else
			grid_none(&g);
		grid_text(&g, str(p, module->path));
	}
	end_table(b, &g, info->nr_modules);
	if (nr_in_files * 100 > info->nr_samples)
		buffer_add_string(
			b, "\nFor names, install debug packages (-dbgsym, -dbg) before the next "
			   "recording, or use sprof record --debuginfod\n");
}

/* Lists the files whose unwind rules were derived from machine code. */
static void add_derived_rules(struct buffer *b, const struct info *info, const struct profile *p,
			      const struct info_file *file)
{
	static const struct grid_column columns[] = {
		{ NULL, "total", false },
		{ NULL, "functions", false },
		{ NULL, "file", true },
	};
	size_t nr;
	const struct fact_derived_rules *rows = facts_rows(p, FACT_DERIVED_RULES, &nr);
	struct grid g;

	if (!nr)
		return;
	buffer_add_string(b, "\nUnwind rules read from machine code, where a file has none\n");
	begin_table(&g, columns, 3, file);
	for (size_t i = 0; i < nr && i < MAX_ROWS; i++) {
		uint64_t nr_samples = 0;

		for (size_t k = 0; k < info->nr_modules; k++)
			if (p->modules[info->modules[k].module].path == rows[i].path)
				nr_samples += info->modules[k].nr_total;
		grid_share(&g, nr_samples, info->nr_samples);
		grid_count(&g, rows[i].functions);
		grid_text(&g, str(p, (uint32_t)rows[i].path));
	}
	end_table(b, &g, nr);
}

static void add_marks(struct buffer *b, const struct segments_found *found)
{
	for (size_t i = 0; found && i < found->nr_marks; i++) {
		time_t s = (time_t)(found->marks[i].realtime_ns / 1000000000);
		char when[64] = "";
		struct tm tm;

		if (gmtime_r(&s, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S +0000", &tm);
		buffer_printf(info_label(b, i ? "" : "marks"), "%s  ", when);
		add_clean(b, found->marks[i].text);
		buffer_add_char(b, '\n');
	}
}

void info_print_text(struct buffer *b, const struct info *info, const struct profile *p,
		     const struct info_file *file)
{
	add_file(b, info, file);
	if (p->meta.unfinished)
		buffer_printf(info_label(b, "state"), "UNFINISHED: %s\n", file->note);
	else
		info_line(b, "state",
			  file->segments && file->segments->is_recorded_into ? "being recorded"
									     : "finished");
	if (file->segments)
		buffer_printf(info_label(b, "segments"), "%zu, %zu of them read\n",
			      file->segments->nr, file->segments->nr_read);
	add_origin(b, info, p);
	add_marks(b, file->segments);
	add_samples(b, info, p);
	info_gil_text(b, info);
	if (info->nr_samples)
		add_columns(b, p, info, file);
	info_waits_text(b, p);
	info_labels_text(b, p);
	info_tensors_text(b, p);
	info_unhooked_text(b, p);
	add_limits(b, p);
	add_gpu_kinds(b, p);
	add_gpu_levels(b, p);
	add_gpu_timeline(b, p);
	add_left_out_processes(b, p);
	add_left_out_rows(b, p);
	add_threads(b, info, p, file);
	add_modules(b, info, p, file);
	add_derived_rules(b, info, p, file);
}
