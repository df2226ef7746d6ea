/*
 * Writes the tables of GPU work. Each table chooses its rows from the facts of the profile, sorts
 * them and fills them into a grid; below the tables come the devices and notes on what was lost.
 */
#include "output/insight/gpu_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/text/number.h"
#include "output/insight/gpu_estimates.h"
#include "output/report/occupancy.h"
#include "output/text/text.h"

enum { VERSION = 1, KERNEL_NAME = 40 /* columns */ };

static const char *str(const struct profile *p, uint64_t id)
{
	return profile_str(p, (uint32_t)id);
}

static int by_total(const void *a, const void *b)
{
	const struct fact_gpu_work *x = *(const struct fact_gpu_work *const *)a;
	const struct fact_gpu_work *y = *(const struct fact_gpu_work *const *)b;

	return ORDER(y->total_ns, x->total_ns) ?: ORDER(x, y);
}

/* Returns the rows of the kinds [first, last], most time first; the caller frees the array. */
static const struct fact_gpu_work **choose_work(const struct profile *p, uint64_t first,
						uint64_t last, size_t *ret_nr, uint64_t *ret_total)
{
	const struct fact_gpu_work *all, **chosen;
	size_t nr, kept = 0;

	all = facts_rows(p, FACT_GPU_WORK, &nr);
	chosen = xcalloc(nr + 1, sizeof(*chosen));
	*ret_total = 0;
	for (size_t i = 0; i < nr; i++) {
		if (all[i].kind < first || all[i].kind > last)
			continue;
		chosen[kept++] = &all[i];
		*ret_total += all[i].total_ns;
	}
	qsort(chosen, kept, sizeof(*chosen), by_total);
	*ret_nr = kept;
	return chosen;
}

/* Rows are of one process each; with several of them a column says which. */
static bool work_is_of_several(const struct fact_gpu_work **rows, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (rows[i]->pid != rows[0]->pid)
			return true;
	return false;
}

/* Adds the grid of all launches, or, if they differ, their least and greatest number of blocks. */
static void add_grid(struct grid *g, const struct fact_gpu_work *w)
{
	char text[64];

	if (w->min_blocks == w->max_blocks) {
		grid_shape(g, w->grid);
		return;
	}
	snprintf(text, sizeof(text), "%llu..%llu", (unsigned long long)w->min_blocks,
		 (unsigned long long)w->max_blocks);
	grid_text(g, text);
}

static void add_launch_shape(struct grid *g, const struct profile *p, const struct fact_gpu_work *w)
{
	const struct fact_gpu_device *device = facts_gpu_device(p, w->pid, w->device);
	unsigned percent;

	if (w->kind != GPU_WORK_KERNEL) {
		for (int i = 0; i < 9; i++)
			grid_none(g);
		return;
	}
	grid_count(g, w->registers);
	grid_bytes(g, w->shared_static + w->shared_dynamic);
	grid_bytes(g, w->local_bytes);
	grid_shape(g, w->grid);
	add_grid(g, w);
	if (w->max_blocks) {
		grid_count(g, w->min_blocks);
		grid_count(g, w->max_blocks);
	} else { /* older recordings do not say */
		grid_none(g);
		grid_none(g);
	}
	grid_shape(g, w->block);
	if (device && occupancy_percent(device, w, &percent))
		grid_share(g, percent, 100);
	else
		grid_none(g);
}

static bool fill_work(struct grid *g, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ "share", "Share", false },	  { "total_ns", "Total", false },
		{ "calls", "Calls", false },	  { "average_ns", "Average", false },
		{ "min_ns", "Min", false },	  { "max_ns", "Max", false },
		{ "registers", "Regs", false },	  { "shared_bytes", "Shared", false },
		{ "local_bytes", NULL, false },	  { "grid", NULL, false },
		{ NULL, "Grid", false },	  { "min_blocks", NULL, false },
		{ "max_blocks", NULL, false },	  { "block", "Block", false },
		{ "occupancy", "Occup.", false }, { "device", "GPU", false },
		{ "pid", "PID", false },	  { "name", "Name", true },
	};
	const struct fact_gpu_work **rows;
	uint64_t total;
	size_t nr;

	rows = choose_work(p, GPU_WORK_KERNEL, GPU_WORK_GRAPH, &nr, &total);
	grid_init(g, columns, ARRAY_SIZE(columns));
	g->not_in_text = work_is_of_several(rows, nr) ? NULL : "pid";
	for (size_t i = 0; i < nr; i++) {
		const struct fact_gpu_work *w = rows[i];

		grid_share(g, w->total_ns, total);
		grid_time(g, w->total_ns);
		grid_count(g, w->calls);
		grid_time(g, number_scale(w->total_ns, 1, w->calls));
		grid_time(g, w->min_ns);
		grid_time(g, w->max_ns);
		add_launch_shape(g, p, w);
		grid_count(g, w->device);
		grid_count(g, w->pid);
		grid_text(g, str(p, w->name));
	}
	free(rows);
	return nr > 0;
}

static bool fill_copies(struct grid *g, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ "bytes", "Bytes", false },
		{ "calls", "Calls", false },
		{ "average_bytes", "Average", false },
		{ "total_ns", "Total", false },
		{ "average_ns", "Avg time", false },
		{ "min_ns", "Min", false },
		{ "max_ns", "Max", false },
		{ "bytes_per_s", "Rate", false },
		{ "device", "GPU", false },
		{ "pid", "PID", false },
		{ "name", "Name", true },
	};
	const struct fact_gpu_work **rows;
	uint64_t total;
	size_t nr;

	rows = choose_work(p, GPU_WORK_MEMCPY, GPU_WORK_MEMSET, &nr, &total);
	grid_init(g, columns, ARRAY_SIZE(columns));
	g->not_in_text = work_is_of_several(rows, nr) ? NULL : "pid";
	for (size_t i = 0; i < nr; i++) {
		const struct fact_gpu_work *w = rows[i];

		grid_bytes(g, w->bytes);
		grid_count(g, w->calls);
		grid_bytes(g, number_scale(w->bytes, 1, w->calls));
		grid_time(g, w->total_ns);
		grid_time(g, number_scale(w->total_ns, 1, w->calls));
		grid_time(g, w->min_ns);
		grid_time(g, w->max_ns);
		grid_rate(g, w->bytes, w->total_ns);
		grid_count(g, w->device);
		grid_count(g, w->pid);
		grid_text(g, str(p, w->name));
	}
	free(rows);
	return nr > 0;
}

static int by_call_time(const void *a, const void *b)
{
	const struct fact_gpu_api *x = *(const struct fact_gpu_api *const *)a;
	const struct fact_gpu_api *y = *(const struct fact_gpu_api *const *)b;

	return ORDER(y->total_ns, x->total_ns) ?: ORDER(x, y);
}

static bool calls_are_of_several(const struct fact_gpu_api **rows, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (rows[i]->pid != rows[0]->pid)
			return true;
	return false;
}

static bool fill_api(struct grid *g, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ "share", "Share", false }, { "total_ns", "Total", false },
		{ "calls", "Calls", false }, { "average_ns", "Average", false },
		{ "max_ns", "Max", false },  { "api", "API", true },
		{ "pid", "PID", false },     { "name", "Function", true },
	};
	const struct fact_gpu_api *all, **rows;
	uint64_t total = 0;
	size_t nr;

	all = facts_rows(p, FACT_GPU_API, &nr);
	rows = xcalloc(nr + 1, sizeof(*rows));
	for (size_t i = 0; i < nr; i++) {
		rows[i] = &all[i];
		total += all[i].total_ns;
	}
	qsort(rows, nr, sizeof(*rows), by_call_time);
	grid_init(g, columns, ARRAY_SIZE(columns));
	g->not_in_text = calls_are_of_several(rows, nr) ? NULL : "pid";
	for (size_t i = 0; i < nr; i++) {
		/* no call counts twice: driver calls inside a runtime call are not counted */
		grid_share(g, rows[i]->total_ns, total);
		grid_time(g, rows[i]->total_ns);
		grid_count(g, rows[i]->calls);
		grid_time(g, number_scale(rows[i]->total_ns, 1, rows[i]->calls));
		grid_time(g, rows[i]->max_ns);
		grid_text(g, rows[i]->runtime ? "runtime" : "driver");
		grid_count(g, rows[i]->pid);
		grid_text(g, str(p, rows[i]->name));
	}
	free(rows);
	return nr > 0;
}

static void add_devices(struct buffer *b, const struct profile *p)
{
	const struct fact_gpu_device *d;
	bool several = false;
	size_t nr;

	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	for (size_t i = 0; i < nr; i++)
		several |= d[i].pid != d[0].pid;
	for (size_t i = 0; i < nr; i++) {
		const char *name = str(p, d[i].name);
		uint64_t wall = d[i].busy_ns + d[i].idle_ns;

		buffer_printf(b, "GPU %llu", (unsigned long long)d[i].device);
		if (several)
			buffer_printf(b, " in process %llu", (unsigned long long)d[i].pid);
		if (*name) {
			buffer_add_char(b, ' ');
			text_add_clean(b, name, strlen(name));
		}
		if (wall) {
			buffer_add_string(b, ": busy ");
			number_add_percent(b, d[i].busy_ns, wall);
			buffer_add_string(b, " of ");
			number_add_time(b, wall);
			buffer_add_string(b, ", idle ");
			number_add_time(b, d[i].idle_ns);
		}
		if (d[i].copy_ns) {
			buffer_add_string(b, ", copies ");
			number_add_time(b, d[i].copy_ns);
			buffer_add_string(b, " of which ");
			number_add_percent(b, d[i].overlap_ns, d[i].copy_ns);
			buffer_add_string(b, " behind kernels");
		}
		if (d[i].exposed_ns) {
			buffer_add_string(b, ", exposed communication ");
			number_add_time(b, d[i].exposed_ns);
		}
		buffer_add_char(b, '\n');
	}
}

static void add_devices_json(struct buffer *b, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ "device", "", false },       { "pid", "", false },
		{ "name", "", false },	       { "uuid", "", false },
		{ "memory_bytes", "", false }, { "peak_bytes", "", false },
		{ "wall_ns", "", false },      { "busy_ns", "", false },
		{ "idle_ns", "", false },      { "kernel_ns", "", false },
		{ "exposed_ns", "", false },   { "copy_ns", "", false },
		{ "overlap_ns", "", false },
	};
	const struct fact_gpu_device *d;
	const uint64_t of_copies = GPU_KIND_KERNELS | GPU_KIND_COPIES | GPU_KIND_FILLS;
	uint64_t missing = gpu_kinds_not_collected(p);
	struct grid g;
	size_t nr;

	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	grid_init(&g, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr; i++) {
		const uint64_t times[] = {
			d[i].end_ns > d[i].start_ns ? d[i].end_ns - d[i].start_ns : 0,
			d[i].busy_ns,
			d[i].idle_ns,
			d[i].kernel_ns,
			d[i].exposed_ns,
			d[i].copy_ns,
			d[i].overlap_ns,
		};

		grid_count(&g, d[i].device);
		grid_count(&g, d[i].pid);
		grid_text(&g, str(p, d[i].name));
		grid_text(&g, str(p, d[i].uuid));
		grid_bytes(&g, d[i].memory_bytes);
		if (missing & GPU_KIND_MEMORY)
			grid_none(&g);
		else
			grid_bytes(&g, d[i].peak_bytes);
		for (size_t k = 0; k < ARRAY_SIZE(times); k++)
			if (missing & (k < 5 ? GPU_KIND_KERNELS : of_copies))
				grid_none(&g);
			else
				grid_time(&g, times[k]);
	}
	grid_write_json(b, &g, 0);
	grid_fini(&g);
}

bool gpu_report_write(struct buffer *b, const struct profile *p, enum gpu_report_table table,
		      const struct grid_report_opts *opts)
{
	static bool (*const fill[])(struct grid * g, const struct profile *p) = {
		[GPU_REPORT_WORK] = fill_work,
		[GPU_REPORT_API] = fill_api,
		[GPU_REPORT_COPIES] = fill_copies,
	};
	static const char *const names[] = { "gpu", "api", "memcpy" };
	static const char *const spare[] = { "shared_bytes", "registers", "block",     "grid",
					     "min_ns",	     "max_ns",	  "occupancy", NULL };
	struct grid g;
	bool any = fill[table](&g, p);

	if (any && opts->json) {
		buffer_printf(b, "{\n\"version\": %d,\n\"report\": \"%s\",\n\"devices\": ", VERSION,
			      names[table]);
		add_devices_json(b, p);
		buffer_add_string(b, ",\n");
		gpu_report_add_trust_json(b, p);
		buffer_add_string(b, ",\n");
		gpu_estimates_add_json(b, p);
		buffer_add_string(b, ",\n\"rows\": ");
		grid_write_json(b, &g, opts->max_rows);
		buffer_add_string(b, "\n}\n");
	} else if (any) {
		add_devices(b, p);
		gpu_levels_add(b, p);
		gpu_report_add_trust(b, p);
		if (b->size)
			buffer_add_char(b, '\n');
		g.spare = spare;
		g.name_width = KERNEL_NAME;
		g.unicode = opts->unicode;
		g.max_width = opts->columns;
		grid_write_text(b, &g, opts->max_rows);
		if (table != GPU_REPORT_API)
			gpu_estimates_add(b, p, opts->unicode, opts->max_rows);
	}
	grid_fini(&g);
	return any;
}
