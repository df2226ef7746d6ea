/*
 * Compares each entry of the region with the row that was written last. What a target cannot have
 * computed is refused: counters that shrink, and sums beyond any machine.
 */
#include "gpu/sums.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "gpu/names.h"
#include "gpu/stack_builder.h"

/*
 * Sums of operations stay below 2^96, which is 10^28: a machine of 10^18 in a second needs 300
 * years for it. So sums over all entries never overflow.
 */
#define MAX_HIGH (1ull << 32)

static uint64_t pid_of(const struct flops *f)
{
	return (uint64_t)f->names->opts->pid;
}

static uint32_t stack_of(struct flops *f, const struct gpu_flops *e)
{
	stack_builder_start(f->builder);
	stack_builder_launch(f->builder, e->stack);
	stack_builder_ranges(f->builder, e->range);
	return stack_builder_finish(f->builder);
}

static struct fact_gpu_flops *row_at(struct flops *f, uint32_t i)
{
	f->rows = xgrow_to(f->rows, &f->rows_capacity, &f->nr_rows, i, sizeof(*f->rows));
	return &f->rows[i];
}

static bool makes_sense(const struct fact_gpu_flops *before, const struct gpu_flops *e)
{
	return e->type < GPU_NR_FLOPS_TYPES && e->source < GPU_NR_FLOPS_SOURCES &&
	       e->high < MAX_HIGH && e->calls >= before->calls && e->unknown >= before->unknown &&
	       e->failed >= before->failed && e->captured >= before->captured &&
	       e->saturated <= e->calls && e->high >= before->high &&
	       (e->high > before->high || e->low >= before->low);
}

static bool is_empty(const struct gpu_flops *e)
{
	return !e->calls && !e->unknown && !e->failed && !e->captured;
}

static void look_at(struct flops *f, uint32_t i)
{
	struct fact_gpu_flops *row, now;
	struct gpu_flops e;

	if (!shared_region_flops(f->names->region, i, &e) || is_empty(&e))
		return;
	row = row_at(f, i);
	if (!makes_sense(row, &e)) {
		f->nr_refused++;
		return;
	}
	now = *row;
	if (!row->pid) {
		now.pid = pid_of(f);
		now.id = i;
		now.stack = stack_of(f, &e);
		now.call = names_string(f->names, e.name);
		now.type = e.type;
		now.source = e.source;
	}
	now.calls = e.calls;
	now.low = e.low;
	now.high = e.high;
	now.saturated = e.saturated;
	now.unknown = e.unknown;
	now.failed = e.failed;
	now.captured = e.captured;
	if (!memcmp(&now, row, sizeof(now)))
		return;
	*row = now;
	f->names->sink->fact(f->names->sink, FACT_GPU_FLOPS, row);
}

void flops_add_work(struct flops *f, const struct gpu_fold *fold, uint64_t launches, uint64_t ns)
{
	struct fact_gpu_flops_work row = {
		.pid = pid_of(f),
		.id = fold->flops,
		.device = fold->device,
	};
	uint32_t *index;
	bool is_new;

	if (fold->kind != GPU_FOLD_KERNEL || !fold->flops ||
	    fold->flops >= shared_region_nr_flops(f->names->region))
		return;
	row.name = names_kernel(f->names, fold->name);
	index = number_map_at(&f->work_index,
			      XXH3_64bits(&row, offsetof(struct fact_gpu_flops_work, launches)),
			      &is_new);
	if (is_new) {
		*index = (uint32_t)f->nr_works++;
		f->works = xgrow(f->works, &f->works_capacity, f->nr_works, sizeof(*f->works));
		f->works[*index] = row;
		f->written =
			xgrow(f->written, &f->written_capacity, f->nr_works, sizeof(*f->written));
		f->written[*index] = 0;
	}
	f->works[*index].launches += launches;
	f->works[*index].total_ns += ns;
}

void flops_flush(struct flops *f)
{
	struct sink *sink = f->names->sink;
	uint32_t nr = shared_region_nr_flops(f->names->region);

	for (uint32_t i = 0; i < nr; i++)
		look_at(f, i);
	for (size_t i = 0; i < f->nr_works; i++) {
		if (f->works[i].launches == f->written[i])
			continue;
		f->written[i] = f->works[i].launches;
		sink->fact(sink, FACT_GPU_FLOPS_WORK, &f->works[i]);
	}
}

void flops_fini(struct flops *f)
{
	free(f->rows);
	free(f->works);
	free(f->written);
	number_map_fini(&f->work_index);
}
