/*
 * Writes the changes of collecting, and the estimates. An estimate is of what was launched since
 * the first pause. What was collected before is exact: the row of FACT_GPU_WORK less what the
 * estimate has seen of it.
 */
#include "output/insight/gpu_estimates.h"

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/text/number.h"

#define MILLION 1000000u

static const char *const level_names[NR_GPU_COST_LEVELS] = {
	[GPU_COST_ALL] = "all",		[GPU_COST_GRAPHS] = "graphs",
	[GPU_COST_WINDOWS] = "windows", [GPU_COST_LAUNCHES] = "launches",
	[GPU_COST_NOTHING] = "nothing",
};

static void add_coverage(struct buffer *b, const struct profile *p)
{
	uint64_t covered =
		facts_count(p, COUNTER_COVERED_NS) + facts_count(p, COUNTER_UNCOVERED_NS);

	buffer_printf(b, ": %llu, in ", (unsigned long long)facts_count(p, COUNTER_WINDOWS));
	number_add_percent(b, facts_count(p, COUNTER_WINDOW_NS), covered);
	buffer_add_string(b, " of the time; when the GPU was idle is known until then");
}

void gpu_levels_add(struct buffer *b, const struct profile *p)
{
	static const char *const words[NR_GPU_COST_LEVELS] = {
		[GPU_COST_ALL] = "everything is collected",
		[GPU_COST_GRAPHS] = "CUDA graphs are collected whole, without their kernels",
		[GPU_COST_WINDOWS] = "windows of collection",
		[GPU_COST_LAUNCHES] = "launches are counted, and their work is not collected",
		[GPU_COST_NOTHING] = "nothing is collected, as even counting costs more",
	};
	const struct fact_gpu_level *l;
	size_t nr;

	l = facts_rows(p, FACT_GPU_LEVEL, &nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t start = p->meta.start_ns;

		if (l[i].level >= NR_GPU_COST_LEVELS)
			continue;
		buffer_add_string(b, "from ");
		number_add_time(b, l[i].time_ns > start ? l[i].time_ns - start : 0);
		buffer_printf(b, " in process %llu on: %s", (unsigned long long)l[i].pid,
			      words[l[i].level]);
		if (l[i].level == GPU_COST_WINDOWS)
			add_coverage(b, p);
		buffer_add_string(b, " (it had cost ");
		number_add_percent(b, l[i].cost_ppm, MILLION);
		buffer_add_string(b, ", the limit is ");
		number_add_percent(b, l[i].limit_ppm, MILLION);
		buffer_add_string(b, ")\n");
	}
}

/* The exact part of a row: what was collected before the first pause. */
static struct fact_gpu_work exact_part(const struct profile *p, const struct fact_gpu_estimate *e)
{
	const struct fact_gpu_work *w;
	struct fact_gpu_work part = { 0 };
	size_t nr;

	w = facts_rows(p, FACT_GPU_WORK, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (w[i].pid != e->pid || w[i].device != e->device || w[i].kind != e->kind ||
		    w[i].subkind != e->subkind || w[i].name != e->name)
			continue;
		part.calls = w[i].calls > e->seen_calls ? w[i].calls - e->seen_calls : 0;
		part.total_ns = w[i].total_ns > e->seen_ns ? w[i].total_ns - e->seen_ns : 0;
		break;
	}
	return part;
}

/* Half the width of the 95 % confidence interval, from the standard error. */
static uint64_t margin_of(uint64_t error)
{
	return error > UINT64_MAX / 2 ? UINT64_MAX : (uint64_t)((double)error * 1.96);
}

static void add_margin(struct grid *g, uint64_t error, uint64_t of)
{
	if (error == UINT64_MAX || !of)
		grid_none(g);
	else
		grid_share(g, margin_of(error), of);
}

static size_t fill(struct grid *g, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ "all_ns", "Est. total", false },
		{ "total_margin", "\xc2\xb1", false },
		{ "all_calls", "Est. calls", false },
		{ "calls_margin", "\xc2\xb1", false },
		{ "seen_calls", "Seen", false },
		{ "seen_ns", NULL, false },
		{ "calls", NULL, false },
		{ "total_ns", NULL, false },
		{ "calls_error", NULL, false },
		{ "total_error", NULL, false },
		{ "device", NULL, false },
		{ "pid", NULL, false },
		{ "name", "Name", true },
	};
	const struct fact_gpu_estimate *e;
	size_t nr;

	e = facts_rows(p, FACT_GPU_ESTIMATE, &nr);
	grid_init(g, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr; i++) {
		struct fact_gpu_work exact = exact_part(p, &e[i]);
		uint64_t ns = exact.total_ns + e[i].total_ns, calls = exact.calls + e[i].calls;

		grid_time(g, ns);
		add_margin(g, e[i].total_error, ns);
		grid_count(g, calls);
		add_margin(g, e[i].calls_error, calls);
		grid_count(g, e[i].seen_calls);
		grid_time(g, e[i].seen_ns);
		grid_count(g, e[i].calls);
		grid_time(g, e[i].total_ns);
		if (e[i].calls_error == UINT64_MAX)
			grid_none(g);
		else
			grid_count(g, e[i].calls_error);
		if (e[i].total_error == UINT64_MAX)
			grid_none(g);
		else
			grid_time(g, e[i].total_error);
		grid_count(g, e[i].device);
		grid_count(g, e[i].pid);
		grid_text(g, profile_str(p, (uint32_t)e[i].name));
	}
	return nr;
}

void gpu_estimates_add(struct buffer *b, const struct profile *p, bool unicode, uint32_t max_rows)
{
	struct grid g;

	if (fill(&g, p)) {
		buffer_add_string(
			b, "\nEstimates of all work, from what was launched in windows, and their "
			   "sampling error (95%); above is what was seen\n");
		g.unicode = unicode;
		grid_write_text(b, &g, max_rows);
	}
	grid_fini(&g);
}

void gpu_estimates_add_json(struct buffer *b, const struct profile *p)
{
	const struct fact_gpu_level *l;
	const char *separator = "";
	struct grid g;
	size_t nr;

	l = facts_rows(p, FACT_GPU_LEVEL, &nr);
	buffer_add_string(b, "\"levels\": [");
	for (size_t i = 0; i < nr; i++) {
		if (l[i].level >= NR_GPU_COST_LEVELS)
			continue;
		buffer_printf(b,
			      "%s{\"pid\": %llu, \"time_ns\": %llu, \"level\": \"%s\", "
			      "\"cost\": %.6f, \"limit\": %.6f}",
			      separator, (unsigned long long)l[i].pid,
			      (unsigned long long)l[i].time_ns, level_names[l[i].level],
			      (double)l[i].cost_ppm / MILLION, (double)l[i].limit_ppm / MILLION);
		separator = ", ";
	}
	buffer_add_string(b, "],\n\"estimates\": ");
	fill(&g, p);
	grid_write_json(b, &g, 0);
	grid_fini(&g);
}
