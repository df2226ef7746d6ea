/*
 * Computes what the repeats of each range took. Runs are sorted by range and time, so the repeats
 * of a range are a slice. CPU samples are sorted by thread and time with running sums, so the
 * samples of a run are the difference of two sums.
 */
#include "output/insight/range_stats.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/insight/range_memory.h"

struct cpu_sample {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t weight;
	uint64_t before; /* sum of the weights before this sample */
};

struct builder {
	const struct profile *p;
	const struct fact_range_run **runs;
	struct cpu_sample *samples;
	size_t nr_runs, nr_samples;
	struct range_memory *tensors;
	uint64_t skip;
};

static int by_thread_and_time(const void *a, const void *b)
{
	const struct cpu_sample *x = a, *y = b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->tid, y->tid) ?: ORDER(x->time_ns, y->time_ns);
}

static void sort_samples(struct builder *b)
{
	const struct profile *p = b->p;
	uint64_t sum = 0;

	b->samples = xcalloc(p->nr_samples + 1, sizeof(*b->samples));
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->column != COLUMN_CPU || s->thread == PROFILE_NONE)
			continue;
		b->samples[b->nr_samples++] = (struct cpu_sample){
			.pid = p->threads[s->thread].pid,
			.tid = p->threads[s->thread].tid,
			.time_ns = s->time_ns,
			.weight = s->weight,
		};
	}
	qsort(b->samples, b->nr_samples, sizeof(*b->samples), by_thread_and_time);
	for (size_t i = 0; i < b->nr_samples; i++) {
		b->samples[i].before = sum;
		sum += b->samples[i].weight;
	}
	b->samples[b->nr_samples].before = sum;
}

/* Returns the thread's first sample that is not before that time. */
static size_t lower_bound(const struct builder *b, const struct cpu_sample *key)
{
	size_t from = 0, to = b->nr_samples;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (by_thread_and_time(&b->samples[middle], key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void add_cpu_time(const struct builder *b, struct range_stats *s,
			 const struct fact_range_run *run)
{
	struct cpu_sample key = { .time_ns = run->start_ns };
	size_t first, last;

	if (run->thread == PROFILE_NONE)
		return;
	key.pid = b->p->threads[run->thread].pid;
	key.tid = b->p->threads[run->thread].tid;
	first = lower_bound(b, &key);
	key.time_ns += run->duration_ns;
	last = lower_bound(b, &key);
	if (last <= first)
		return; /* a run that ends before it starts */
	s->cpu_ns += b->samples[last].before - b->samples[first].before;
	s->cpu_samples += last - first;
}

static uint64_t rank(const uint64_t *sorted, size_t nr, unsigned percent)
{
	return sorted[(nr * percent + 99) / 100 - 1];
}

/* Sorts `values`. */
static void spread_init(struct spread *s, uint64_t *values, size_t nr)
{
	double mean = 0, squares = 0;

	*s = (struct spread){ 0 };
	if (!nr)
		return;
	for (size_t i = 0; i < nr; i++)
		mean += (double)values[i] / (double)nr;
	for (size_t i = 0; i < nr; i++)
		squares += ((double)values[i] - mean) * ((double)values[i] - mean);
	qsort(values, nr, sizeof(*values), order_u64);
	*s = (struct spread){
		.nr = nr,
		.mean_ns = (uint64_t)llround(fmin(mean, 9e18)),
		.stddev_ns =
			nr > 1 ? (uint64_t)llround(fmin(sqrt(squares / (double)(nr - 1)), 9e18))
			       : 0,
		.median_ns = rank(values, nr, 50),
		.p90_ns = rank(values, nr, 90),
		.p99_ns = rank(values, nr, 99),
		.min_ns = values[0],
		.max_ns = values[nr - 1],
	};
}

static int by_range_and_start(const void *a, const void *b)
{
	const struct fact_range_run *x = *(const struct fact_range_run *const *)a;
	const struct fact_range_run *y = *(const struct fact_range_run *const *)b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->range, y->range) ?: ORDER(x->start_ns, y->start_ns)
	       ?: ORDER(x, y);
}

static void sort_runs(struct builder *b)
{
	const struct fact_range_run *runs;
	size_t nr;

	runs = facts_rows(b->p, FACT_RANGE_RUN, &nr);
	b->runs = xcalloc(nr + 1, sizeof(*b->runs));
	for (size_t i = 0; i < nr; i++)
		b->runs[i] = &runs[i];
	b->nr_runs = nr;
	qsort(b->runs, nr, sizeof(*b->runs), by_range_and_start);
}

/* The slice of a range's runs: its start and its length. */
static size_t runs_of(const struct builder *b, const struct fact_range *range, size_t *ret_nr)
{
	size_t from = 0, to = b->nr_runs, first;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct fact_range_run *run = b->runs[middle];

		if (run->pid < range->pid || (run->pid == range->pid && run->range < range->id))
			from = middle + 1;
		else
			to = middle;
	}
	first = from;
	while (from < b->nr_runs && b->runs[from]->pid == range->pid &&
	       b->runs[from]->range == range->id)
		from++;
	*ret_nr = from - first;
	return first;
}

static void add_tensors(const struct builder *b, struct range_stats *s,
			const struct fact_range_run *run)
{
	int64_t net;
	uint64_t peak;

	if (!b->tensors)
		return;
	range_memory_of(b->tensors, run->pid, run->start_ns, run->start_ns + run->duration_ns, &net,
			&peak);
	s->tensor_net_bytes = (int64_t)((uint64_t)s->tensor_net_bytes + (uint64_t)net);
	if (peak > s->tensor_peak_bytes)
		s->tensor_peak_bytes = peak;
}

static void add_run(const struct builder *b, struct range_stats *s,
		    const struct fact_range_run *run)
{
	uint64_t end_ns = run->start_ns + run->duration_ns;

	s->gpu_ns += run->gpu_ns;
	s->launches += run->launches;
	s->net_bytes = (int64_t)((uint64_t)s->net_bytes + run->net_bytes);
	if (run->peak_bytes > s->peak_bytes)
		s->peak_bytes = run->peak_bytes;
	if (s->window_ns < end_ns)
		s->window_ns = end_ns; /* holds the end until the start is subtracted */
	add_cpu_time(b, s, run);
	add_tensors(b, s, run);
}

static void fill(const struct builder *b, struct range_stats *s, const struct fact_range *range)
{
	size_t nr, first = runs_of(b, range, &nr), nr_gpu = 0;
	size_t skip = b->skip < nr ? (size_t)b->skip : nr;
	uint64_t *wall, *gpu;

	*s = (struct range_stats){ .range = range,
				   .skipped = b->skip ? skip : 0,
				   .nr_runs = nr - skip };
	first += skip;
	nr -= skip;
	wall = xcalloc(nr + 1, sizeof(*wall));
	gpu = xcalloc(nr + 1, sizeof(*gpu));
	for (size_t i = 0; i < nr; i++) {
		const struct fact_range_run *run = b->runs[first + i];

		add_run(b, s, run);
		s->total_ns += wall[i] = run->duration_ns;
		if (run->launches)
			gpu[nr_gpu++] = run->gpu_duration_ns;
	}
	if (nr && s->window_ns > b->runs[first]->start_ns)
		s->window_ns -= b->runs[first]->start_ns;
	s->repeats = nr;
	/* If no repeat is left out, the exact sums of the range are used, with or without runs. */
	if (!b->skip) {
		s->repeats = range->calls;
		s->total_ns = range->total_ns;
	}
	spread_init(&s->wall, wall, nr);
	spread_init(&s->gpu, gpu, nr_gpu);
	free(wall);
	free(gpu);
}

static int by_parent_and_total(const void *a, const void *b)
{
	const struct range_stats *x = a, *y = b;

	return ORDER(x->range->pid, y->range->pid) ?: ORDER(x->range->parent, y->range->parent)
	       ?: ORDER(y->total_ns, x->total_ns) ?: ORDER(x->range->id, y->range->id);
}

/* Returns the first row with that parent. */
static size_t children_of(const struct range_stats *sorted, size_t nr, uint64_t pid,
			  uint64_t parent)
{
	size_t from = 0, to = nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct fact_range *r = sorted[middle].range;

		if (r->pid < pid || (r->pid == pid && r->parent < parent))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* A row on the way down, and the next child to visit. */
struct step {
	size_t next;
	uint64_t pid, id;
};

/*
 * Visits rows depth first, with a stack of steps instead of recursion, because a recording decides
 * the depth. Each row is taken once, whatever parents a damaged recording claims.
 */
static size_t put_in_order(const struct range_stats *sorted, size_t nr, struct range_stats *to)
{
	struct step *steps = xcalloc(nr + 1, sizeof(*steps));
	bool *seen = xcalloc(nr + 1, sizeof(*seen));
	size_t depth, taken = 0;

	for (size_t root = 0; root < nr; root++) {
		const struct fact_range *r = sorted[root].range;

		if (r->parent || seen[root])
			continue;
		seen[root] = true;
		to[taken++] = sorted[root];
		steps[0] = (struct step){ children_of(sorted, nr, r->pid, r->id), r->pid, r->id };
		depth = 1;
		while (depth) {
			struct step *s = &steps[depth - 1];
			size_t at = s->next++;

			r = at < nr ? sorted[at].range : NULL;
			if (!r || r->pid != s->pid || r->parent != s->id) {
				depth--;
			} else if (!seen[at]) {
				seen[at] = true;
				to[taken++] = sorted[at];
				steps[depth++] =
					(struct step){ children_of(sorted, nr, r->pid, r->id),
						       r->pid, r->id };
			}
		}
	}
	/* Rows whose parent is missing. */
	for (size_t i = 0; i < nr; i++)
		if (!seen[i])
			to[taken++] = sorted[i];
	free(steps);
	free(seen);
	return taken;
}

void range_table_init(struct range_table *t, const struct profile *p, uint64_t skip)
{
	struct builder b = { .p = p, .skip = skip };
	const struct fact_range *ranges;
	struct range_stats *rows;
	size_t nr, kept = 0;

	ranges = facts_rows(p, FACT_RANGE, &nr);
	rows = xcalloc(nr + 1, sizeof(*rows));
	sort_samples(&b);
	sort_runs(&b);
	b.tensors = range_memory_new(p);
	for (size_t i = 0; i < nr; i++)
		fill(&b, &rows[kept++], &ranges[i]);
	qsort(rows, kept, sizeof(*rows), by_parent_and_total);
	*t = (struct range_table){
		.rows = xcalloc(nr + 1, sizeof(*rows)),
		.cpu_known = b.nr_samples > 0,
		.tensors_known = b.tensors,
	};
	t->nr = put_in_order(rows, kept, t->rows);
	free(rows);
	range_memory_free(b.tensors);
	free(b.samples);
	free(b.runs);
}

void range_table_fini(struct range_table *t)
{
	free(t->rows);
	*t = (struct range_table){ 0 };
}
