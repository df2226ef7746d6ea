/*
 * Writes NVTX ranges as two tables with the same rows: the times of each range, and how they spread
 * over its repeats.
 */
#include "output/insight/range_report.h"

#include <inttypes.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"
#include "output/insight/gpu_report.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/insight/range_stats.h"

enum { VERSION = 1, STDDEV = 1 /* index of a figure in add_spread() */ };

static uint64_t duration_of(const struct profile *p)
{
	return p->meta.end_ns > p->meta.start_ns ? p->meta.end_ns - p->meta.start_ns : 0;
}

static void add_names(struct grid *g, const struct profile *p, const struct range_stats *s)
{
	const struct fact_range *r = s->range;

	grid_path(g, profile_str(p, (uint32_t)r->name),
		  r->depth > 1 && r->depth < 64 ? (size_t)r->depth - 1 : 0);
	grid_text(g, profile_str(p, (uint32_t)r->domain));
	grid_count(g, r->pid);
	grid_count(g, r->id);
	grid_count(g, r->parent);
}

/* Work of kinds that were not collected is unknown, not 0. */
static void add_work(struct grid *g, const struct range_stats *s, uint64_t missing)
{
	if (missing & GPU_KIND_KERNELS)
		grid_none(g);
	else
		grid_time(g, s->gpu_ns);
	if (missing & (GPU_KIND_KERNELS | GPU_KIND_LAUNCHES))
		grid_none(g);
	else
		grid_count(g, s->launches);
	if (missing & GPU_KIND_MEMORY) {
		grid_none(g);
		grid_none(g);
	} else {
		grid_signed_bytes(g, s->net_bytes);
		grid_bytes(g, s->peak_bytes);
	}
}

static void fill_times(struct grid *g, const struct profile *p, const struct range_table *t)
{
	static const struct grid_column columns[] = {
		{ "range", "Range", true },
		{ "domain", "Domain", true },
		{ "pid", NULL, false },
		{ "id", NULL, false },
		{ "parent", NULL, false },
		{ "repeats", "Repeats", false },
		{ "skipped", NULL, false },
		{ "average_ns", "Average", false },
		{ "total_ns", "Total", false },
		{ "share", "Share", false },
		{ "cpu_ns", "CPU", false },
		{ "cpu_samples", NULL, false },
		{ "gpu_ns", "GPU", false },
		{ "launches", "Launches", false },
		{ "net_bytes", "Net memory", false },
		{ "peak_bytes", "Peak memory", false },
		{ "tensor_net_bytes", "Net tensors", false }, /* these two only where known */
		{ "tensor_peak_bytes", "Peak tensors", false },
	};
	uint64_t missing = gpu_kinds_not_collected(p);

	grid_init(g, columns, ARRAY_SIZE(columns) - (t->tensors_known ? 0 : 2));
	for (size_t i = 0; i < t->nr; i++) {
		const struct range_stats *s = &t->rows[i];

		add_names(g, p, s);
		grid_count(g, s->repeats);
		grid_count(g, s->skipped);
		if (s->repeats)
			grid_time(g, number_scale(s->total_ns, 1, s->repeats));
		else
			grid_none(g);
		grid_time(g, s->total_ns);
		grid_share(g, s->total_ns, duration_of(p));
		if (t->cpu_known)
			grid_time(g, s->cpu_ns);
		else
			grid_none(g);
		grid_count(g, s->cpu_samples);
		/* work is charged to the ranges of the thread that launches it */
		for (int k = 0; k < 4 && s->range->started; k++)
			grid_none(g);
		if (!s->range->started)
			add_work(g, s, missing);
		if (!t->tensors_known)
			continue;
		grid_signed_bytes(g, s->tensor_net_bytes);
		grid_bytes(g, s->tensor_peak_bytes);
	}
}

static void add_spread(struct grid *g, const struct spread *s)
{
	const uint64_t values[] = { s->mean_ns, s->stddev_ns, s->median_ns, s->p90_ns,
				    s->p99_ns,	s->min_ns,    s->max_ns };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		/* A single repeat has no spread. */
		if (s->nr > (i == STDDEV))
			grid_time(g, values[i]);
		else
			grid_none(g);
	}
}

static void fill_spreads(struct grid *g, const struct profile *p, const struct range_table *t)
{
	static const struct grid_column columns[] = {
		{ "range", "Range", true },
		{ NULL, NULL, false },
		{ "pid", NULL, false },
		{ "id", NULL, false },
		{ NULL, NULL, false },
		{ "runs", "Runs", false },
		{ "per_second", "Per second", false },
		{ "mean_ns", "Mean", false },
		{ "stddev_ns", "Stddev", false },
		{ "median_ns", "Median", false },
		{ "p90_ns", "p90", false },
		{ "p99_ns", "p99", false },
		{ "min_ns", NULL, false },
		{ "max_ns", NULL, false },
		{ "gpu_mean_ns", "GPU mean", false },
		{ "gpu_stddev_ns", "GPU stddev", false },
		{ "gpu_median_ns", "GPU median", false },
		{ "gpu_p90_ns", "GPU p90", false },
		{ "gpu_p99_ns", "GPU p99", false },
		{ "gpu_min_ns", NULL, false },
		{ "gpu_max_ns", NULL, false },
	};

	grid_init(g, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < t->nr; i++) {
		const struct range_stats *s = &t->rows[i];

		add_names(g, p, s);
		grid_count(g, s->nr_runs);
		grid_per_second(g, s->nr_runs, s->window_ns);
		add_spread(g, &s->wall);
		add_spread(g, &s->gpu);
	}
}

static void write_markdown(struct buffer *b, const struct profile *p, const struct grid *times,
			   const struct grid *spreads, bool tensors,
			   const struct range_report_opts *opts)
{
	gpu_report_add_trust(b, p);
	if (opts->skip == 1)
		buffer_add_string(b, "The first repeat of each range is left out.\n");
	else if (opts->skip)
		buffer_printf(b, "The first %" PRIu64 " repeats of each range are left out.\n",
			      opts->skip);
	if (b->size)
		buffer_add_char(b, '\n');
	grid_write_markdown(b, times, opts->max_rows);
	buffer_add_string(b,
			  "\nShare is of the time recorded. GPU is the sum over what was launched "
			  "inside, whenever it ran. Memory is what the driver allocates.\n\n");
	if (tensors)
		buffer_add_string(b, "Tensors: GPU memory that PyTorch's allocator handed out less "
				     "what it took back in that time, in any thread, without "
				     "blocks from before the recording.\n\n");
	grid_write_markdown(b, spreads, opts->max_rows);
	buffer_add_string(
		b, "\nGPU times of a run are from the start of the first work it launched to "
		   "the end of the last.\n");
}

bool range_report_write(struct buffer *b, const struct profile *p,
			const struct range_report_opts *opts)
{
	struct range_table table;
	struct grid times, spreads;
	bool any;

	range_table_init(&table, p, opts->skip);
	any = table.nr > 0;
	fill_times(&times, p, &table);
	fill_spreads(&spreads, p, &table);
	if (any && opts->json) {
		buffer_printf(b,
			      "{\n\"version\": %d,\n\"report\": \"ranges\",\n\"skip\": %" PRIu64
			      ",\n\"duration_ns\": %" PRIu64 ",\n",
			      VERSION, opts->skip, duration_of(p));
		gpu_report_add_trust_json(b, p);
		buffer_add_string(b, ",\n\"rows\": ");
		grid_write_json(b, &times, opts->max_rows);
		buffer_add_string(b, ",\n\"spreads\": ");
		grid_write_json(b, &spreads, opts->max_rows);
		buffer_add_string(b, "\n}\n");
	} else if (any) {
		write_markdown(b, p, &times, &spreads, table.tensors_known, opts);
	}
	grid_fini(&times);
	grid_fini(&spreads);
	range_table_fini(&table);
	return any;
}
