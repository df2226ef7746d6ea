/*
 * Windows are a sample of the cycles of window and pause. With y for the estimate that a window
 * gives of its cycle, n windows and their sum T, the variance of T is n / (n - 1) times the sum of
 * y * y less T * T / n. The target wrote all of these: a number that cannot be is refused.
 */
#include "gpu/estimates.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "gpu/names.h"
#include "gpu/region/shared_region.h"

#define MIN_WINDOWS 5 /* with fewer an error says nothing */
#define MOST 9.0e15   /* ns, a third of a year: what a uint64_t and a double both hold */
#define MAX_SCALE 1000.0

_Static_assert((int)GPU_COST_ALL == GPU_LEVEL_ALL && (int)GPU_COST_GRAPHS == GPU_LEVEL_GRAPHS &&
		       (int)GPU_COST_WINDOWS == GPU_LEVEL_WINDOWS &&
		       (int)GPU_COST_LAUNCHES == GPU_LEVEL_LAUNCHES &&
		       (int)GPU_COST_NOTHING == GPU_LEVEL_NOTHING,
	       "one numbering");

static void write_level(struct estimates *e, const struct gpu_level_change *change)
{
	struct sink *sink = e->names->sink;
	const struct fact_gpu_level row = {
		.pid = (uint64_t)e->names->opts->pid,
		.time_ns = change->time_ns,
		.level = change->level,
		.cost_ppm = change->cost_ppm,
		.limit_ppm = e->limit_ppm,
	};

	sink->fact(sink, FACT_GPU_LEVEL, &row);
}

void estimates_take_levels(struct estimates *e)
{
	const struct gpu_region *r = shared_region_written_header(e->names->region);
	uint32_t nr = __atomic_load_n(&r->nr_levels, __ATOMIC_ACQUIRE);

	for (; e->nr_levels < nr && e->nr_levels < GPU_MAX_LEVELS; e->nr_levels++) {
		struct gpu_level_change change = r->levels[e->nr_levels];

		if (change.level >= NR_GPU_COST_LEVELS)
			continue;
		write_level(e, &change);
		if (change.level >= GPU_LEVEL_WINDOWS && !e->windows_ns)
			e->windows_ns = change.time_ns;
	}
}

static bool is_sane(double value)
{
	return isfinite(value) && value >= 0 && value <= MOST;
}

static uint64_t error_of(double sum, double squares, double n, double scale)
{
	double variance;

	if (n < MIN_WINDOWS || !isfinite(squares) || squares < 0)
		return UINT64_MAX;
	variance = n / (n - 1) * (squares - sum * sum / n);
	if (variance < 0)
		variance = 0;
	variance = sqrt(variance) * scale;
	return is_sane(variance) ? (uint64_t)variance : UINT64_MAX;
}

/* How much more time there was than the windows stand for. */
static double scale_of(const struct gpu_region *header)
{
	double covered = (double)header->counters[GPU_COUNT_COVERED_NS];
	double uncovered = (double)header->counters[GPU_COUNT_UNCOVERED_NS];
	double scale = covered > 0 ? (covered + uncovered) / covered : 1;

	return isfinite(scale) && scale >= 1 && scale <= MAX_SCALE ? scale : 1;
}

static void write_estimate(struct estimates *e, const struct gpu_estimate *of, double n,
			   double scale)
{
	struct sink *sink = e->names->sink;
	const struct fact_gpu_estimate row = {
		.pid = (uint64_t)e->names->opts->pid,
		.device = of->device,
		.kind = of->kind,
		.subkind = of->subkind,
		.name = of->kind == GPU_WORK_KERNEL ? names_kernel(e->names, of->name)
						    : names_work(e->names, of->kind, of->subkind),
		.seen_calls = of->count,
		.seen_ns = of->total_ns,
		.calls = (uint64_t)(of->estimated_count * scale),
		.total_ns = (uint64_t)(of->estimated_ns * scale),
		.calls_error = error_of(of->estimated_count, of->count_squares, n, scale),
		.total_error = error_of(of->estimated_ns, of->ns_squares, n, scale),
	};

	sink->fact(sink, FACT_GPU_ESTIMATE, &row);
}

void estimates_write(struct estimates *e)
{
	uint32_t nr = shared_region_nr_estimates(e->names->region);
	struct gpu_region *header = xmalloc(sizeof(*header));
	double n, scale;

	estimates_take_levels(e);
	shared_region_header(e->names->region, header);
	n = (double)header->counters[GPU_COUNT_WINDOWS];
	scale = scale_of(header);
	for (uint32_t i = 1; i < nr; i++) {
		struct gpu_estimate of;

		if (!shared_region_estimate(e->names->region, i, &of) ||
		    of.kind >= NR_GPU_WORK_KINDS || !is_sane(of.estimated_count) ||
		    !is_sane(of.estimated_ns) || of.count > MOST || of.total_ns > MOST)
			continue;
		write_estimate(e, &of, n, scale);
	}
	free(header);
}
