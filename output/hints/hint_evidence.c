/* Finds the evidence of hints, each kind in one pass over the samples. */
#include "output/hints/hint_evidence.h"

#include <stdlib.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/profile/hosts.h"
#include "output/hints/hint_rules.h"

/* The function with the largest weight; 0: all weights are 0. */
static uint32_t find_largest(const uint64_t *weights, size_t nr)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < nr; i++)
		if (weights[i] > weights[most])
			most = i;
	return most;
}

/*
 * A thread that holds the GIL may also wait, in code that does not release it, or for a CPU.
 * COLUMN_WALL is left out, because it repeats the samples of these columns.
 */
static bool holds_gil(const struct profile_sample *s)
{
	return s->gil == GIL_HELD && (s->column == COLUMN_CPU || s->column == COLUMN_WAITING ||
				      s->column == COLUMN_RUNNABLE);
}

/* Returns the thread that held the GIL longest below that function, or 0. */
static uint32_t find_thread(const struct hint_stacks *f, uint32_t function)
{
	const struct profile *p = f->p;
	uint64_t *weights = xcalloc(p->nr_threads + 1, sizeof(*weights));
	uint32_t most;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (holds_gil(s) && s->thread < p->nr_threads && f->innermost[s->stack] == function)
			weights[s->thread + 1] += s->weight;
	}
	most = find_largest(weights, p->nr_threads + 1);
	free(weights);
	return most ? p->threads[most - 1].tid : 0;
}

void hint_find_holder(const struct hint_stacks *f, struct hint *h)
{
	const struct profile *p = f->p;
	uint64_t *weights = xcalloc(f->names->nr, sizeof(*weights));
	uint32_t most;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (!holds_gil(s))
			continue;
		h->held += s->weight;
		if (s->column != COLUMN_CPU)
			h->held_off_cpu += s->weight;
		if (f->innermost[s->stack])
			weights[f->innermost[s->stack]] += s->weight;
	}
	most = find_largest(weights, f->names->nr);
	h->holder = xstrdup(most ? f->names->list[most].name : "");
	h->holder_weight = weights[most];
	h->holder_tid = most ? find_thread(f, most) : 0;
	free(weights);
}

struct worker {
	uint64_t process;
	uint64_t loading, whole;
	UT_hash_handle hh;
};

static struct worker *worker_of(struct worker **workers, uint64_t process)
{
	struct worker *w;

	HASH_FIND(hh, *workers, &process, sizeof(process), w);
	if (!w) {
		w = xcalloc(1, sizeof(*w));
		w->process = process;
		HASH_ADD(hh, *workers, process, sizeof(w->process), w);
	}
	return w;
}

static struct worker *add_up(const struct hint_stacks *f, enum profile_column column)
{
	const struct profile *p = f->p;
	struct worker *workers = NULL, *w;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->column != column || s->thread >= p->nr_threads ||
		    !(f->marks[s->stack] & HINT_MARK_WORKER))
			continue;
		w = worker_of(&workers, hosts_process(&p->threads[s->thread]));
		w->whole += s->weight;
		if (f->marks[s->stack] & HINT_MARK_FETCH)
			w->loading += s->weight;
	}
	return workers;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Finds the function of the program below which the worker `process` loads most. */
static void find_place(const struct hint_stacks *f, struct hint *h, uint64_t process)
{
	const struct profile *p = f->p;
	uint64_t *weights = xcalloc(f->names->nr, sizeof(*weights));
	uint32_t most;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->column == h->column && s->thread < p->nr_threads &&
		    hosts_process(&p->threads[s->thread]) == process &&
		    (f->marks[s->stack] & HINT_MARK_FETCH) &&
		    (f->marks[s->stack] & HINT_MARK_WORKER))
			weights[f->innermost[s->stack]] += s->weight;
	}
	weights[0] = 0;
	most = find_largest(weights, f->names->nr);
	h->worker_where = xstrdup(most ? f->names->list[most].name : "");
	h->worker_where_weight = weights[most];
	free(weights);
}

void hint_find_workers(const struct hint_stacks *f, struct hint *h)
{
	struct worker *workers = add_up(f, h->column), *w, *next, *most = NULL, *least = NULL;

	HASH_ITER (hh, workers, w, next) {
		double busy = share(w->loading, w->whole);

		if (!most || busy > share(most->loading, most->whole))
			most = w;
		if (!least || busy <= share(least->loading, least->whole))
			least = w;
	}
	h->nr_workers = HASH_COUNT(workers);
	if (most) {
		h->busiest =
			(struct hint_worker){ (uint32_t)most->process, most->loading, most->whole };
		h->idlest = (struct hint_worker){ (uint32_t)least->process, least->loading,
						  least->whole };
		find_place(f, h, most->process);
	}
	HASH_ITER (hh, workers, w, next) {
		HASH_DEL(workers, w);
		free(w);
	}
}
