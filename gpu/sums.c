/*
 * Compares each fold of the region with its state at the last flush and writes the difference. An
 * entry that shrinks or jumps is refused and counted: only a broken or hostile target does that.
 */
#include "gpu/sums.h"

#include <stdlib.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"
#include "gpu/names.h"
#include "gpu/stack_builder.h"

/* More than a device can do between two flushes: a hostile target must not ruin the sums. */
#define MAX_GROWTH (1ull << 52)

/* Kinds are written to disk with their numbers in shared memory. */
_Static_assert((int)GPU_WORK_KERNEL == GPU_FOLD_KERNEL && (int)GPU_WORK_MEMCPY == GPU_FOLD_MEMCPY &&
		       (int)GPU_WORK_MEMSET == GPU_FOLD_MEMSET &&
		       (int)GPU_WORK_GRAPH == GPU_FOLD_GRAPH &&
		       (int)GPU_WORK_SYNC == GPU_FOLD_SYNC &&
		       (int)GPU_WORK_ALLOC == GPU_FOLD_ALLOC &&
		       (int)GPU_WORK_FREE == GPU_FOLD_FREE &&
		       (int)GPU_WORK_OVERHEAD == GPU_FOLD_OVERHEAD,
	       "one numbering");

static bool runs_on_gpu(uint8_t kind)
{
	return kind >= GPU_WORK_KERNEL && kind <= GPU_WORK_GRAPH;
}

static uint32_t name_of(struct sums *s, const struct gpu_fold *f)
{
	return f->kind == GPU_WORK_KERNEL ? names_kernel(s->names, f->name)
					  : names_work(s->names, f->kind, f->subkind);
}

/* The row of works[] that an entry of the region belongs to. */
static uint32_t work_of(struct sums *s, const struct gpu_fold *f)
{
	struct fact_gpu_work row = {
		.pid = (uint64_t)s->names->opts->pid,
		.device = f->device,
		.kind = f->kind,
		.subkind = f->subkind,
	};
	uint64_t hash;
	uint32_t *index;
	bool is_new;

	row.name = name_of(s, f);
	hash = XXH3_64bits(&row, offsetof(struct fact_gpu_work, calls));
	index = number_map_at(&s->work_index, hash, &is_new);
	if (is_new) {
		*index = (uint32_t)s->nr_works++;
		s->works = xgrow(s->works, &s->works_capacity, s->nr_works, sizeof(*s->works));
		s->works[*index] = row;
		s->written =
			xgrow(s->written, &s->written_capacity, s->nr_works, sizeof(*s->written));
		s->written[*index] = 0;
	}
	return *index;
}

static uint32_t stack_of(struct sums *s, const struct gpu_fold *f)
{
	struct stack_builder *b = s->builder;

	stack_builder_start(b);
	stack_builder_launch(b, f->stack);
	stack_builder_ranges(b, f->range);
	if (runs_on_gpu(f->kind))
		stack_builder_push(b, names_gpu_frame(s->names, name_of(s, f)));
	return stack_builder_finish(b);
}

static void add_sample(struct sums *s, uint32_t stack, enum profile_column column, uint64_t weight,
		       uint64_t now_ns)
{
	const struct profile_sample sample = {
		.time_ns = now_ns,
		.weight = weight,
		.thread = names_thread(s->names, 0),
		.stack = stack,
		.column = (uint8_t)column,
	};

	if (weight)
		s->names->sink->sample(s->names->sink, &sample);
}

static void add_samples(struct sums *s, const struct sum_state *state, const struct gpu_fold *f,
			uint64_t now_ns)
{
	uint64_t count = f->count - state->count, bytes = f->bytes - state->bytes;

	if (runs_on_gpu(f->kind)) {
		add_sample(s, state->stack, COLUMN_GPU, f->total_ns - state->total_ns, now_ns);
		add_sample(s, state->stack, COLUMN_GPU_LAUNCHES, count, now_ns);
		add_sample(s, state->stack, COLUMN_GPU_BYTES, bytes, now_ns);
	} else if (f->kind == GPU_WORK_ALLOC) {
		add_sample(s, state->stack, COLUMN_GPU_MEMORY, bytes, now_ns);
		add_sample(s, state->stack, COLUMN_GPU_ALLOCATIONS, count, now_ns);
	}
}

static void add_to_work(struct fact_gpu_work *w, const struct sum_state *state,
			const struct gpu_fold *f)
{
	if (!w->calls || f->min_ns < w->min_ns)
		w->min_ns = f->min_ns;
	if (f->max_ns > w->max_ns)
		w->max_ns = f->max_ns;
	if (!w->calls || f->min_blocks < w->min_blocks)
		w->min_blocks = f->min_blocks;
	if (f->max_blocks > w->max_blocks)
		w->max_blocks = f->max_blocks;
	w->calls += f->count - state->count;
	w->total_ns += f->total_ns - state->total_ns;
	w->bytes += f->bytes - state->bytes;
	w->registers = f->registers;
	w->local_bytes = f->local_bytes;
	w->shared_static = f->shared_static;
	w->shared_dynamic = f->shared_dynamic;
	for (int i = 0; i < 3; i++) {
		w->grid[i] = f->grid[i];
		w->block[i] = f->block[i];
	}
}

static void add_to_range(struct sums *s, const struct sum_state *state, const struct gpu_fold *f)
{
	if (!runs_on_gpu(f->kind) || f->range >= shared_region_nr_ranges(s->names->region))
		return;
	s->ranges = xgrow_to(s->ranges, &s->ranges_capacity, &s->nr_ranges, f->range,
			     sizeof(*s->ranges));
	s->ranges[f->range].gpu_ns += f->total_ns - state->total_ns;
	s->ranges[f->range].launches += f->count - state->count;
}

static bool grew(const struct sum_state *state, const struct gpu_fold *f)
{
	return f->count - state->count < MAX_GROWTH && f->total_ns - state->total_ns < MAX_GROWTH &&
	       f->bytes - state->bytes < MAX_GROWTH;
}

static void look_at(struct sums *s, uint32_t i, uint64_t now_ns)
{
	struct sum_state *state;
	struct gpu_fold f;

	if (!shared_region_fold(s->names->region, i, &f) || f.kind >= NR_GPU_WORK_KINDS)
		return;
	s->states = xgrow_to(s->states, &s->states_capacity, &s->nr_states, i, sizeof(*s->states));
	state = &s->states[i];
	if (!grew(state, &f)) {
		s->nr_refused++;
		return;
	}
	if (f.count == state->count && f.total_ns == state->total_ns && f.bytes == state->bytes)
		return;
	if (!state->known) {
		state->known = 1;
		state->stack = stack_of(s, &f);
		state->work = work_of(s, &f);
	}
	add_samples(s, state, &f, now_ns);
	add_to_work(&s->works[state->work], state, &f);
	add_to_range(s, state, &f);
	flops_add_work(s->flops, &f, f.count - state->count, f.total_ns - state->total_ns);
	state->count = f.count;
	state->total_ns = f.total_ns;
	state->bytes = f.bytes;
}

void sums_flush(struct sums *s, uint64_t now_ns)
{
	struct sink *sink = s->names->sink;
	uint32_t nr = shared_region_nr_folds(s->names->region);

	for (uint32_t i = 0; i < nr; i++)
		look_at(s, i, now_ns);
	for (size_t i = 0; i < s->nr_works; i++) {
		if (s->works[i].calls == s->written[i])
			continue;
		sink->fact(sink, FACT_GPU_WORK, &s->works[i]);
		s->written[i] = s->works[i].calls;
	}
}

void sums_fini(struct sums *s)
{
	free(s->states);
	free(s->works);
	free(s->written);
	free(s->ranges);
	number_map_fini(&s->work_index);
}
