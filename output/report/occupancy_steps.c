/*
 * Each kernel is two edges, its start and its end. The edges of a GPU in order of time are summed
 * up in integers, so that nothing is left over when the last kernel has ended.
 */
#include "output/report/occupancy_steps.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/report/occupancy.h"

#define ALL_WARPS 1000000 /* ppm */

struct edge {
	uint64_t time_ns;
	uint32_t row; /* of activities */
	bool ends;
};

struct sweep {
	const struct fact_gpu_activity *activities;
	const struct fact_gpu_device *device; /* of the current GPU, or NULL */
	uint64_t ppm;
	uint32_t unknown;
	struct occupancy_step *steps;
	size_t nr_steps, capacity;
};

/* A graph whose kernels were not recorded has no shape. */
static bool fills_multiprocessors(const struct fact_gpu_activity *a)
{
	return (a->kind == GPU_WORK_KERNEL || a->kind == GPU_WORK_GRAPH) && a->duration_ns;
}

static bool same_gpu(const struct fact_gpu_activity *a, const struct fact_gpu_activity *b)
{
	return a->pid == b->pid && a->device == b->device;
}

static int compare_edges(const void *a, const void *b, void *context)
{
	const struct fact_gpu_activity *rows = context;
	const struct edge *x = a, *y = b;
	const struct fact_gpu_activity *v = &rows[x->row], *w = &rows[y->row];

	return ORDER(v->pid, w->pid) ?: ORDER(v->device, w->device)
	       ?: ORDER(x->time_ns, y->time_ns);
}

static struct edge *list_edges(const struct fact_gpu_activity *rows, size_t nr_rows, size_t *ret_nr)
{
	struct edge *edges = xreallocarray(NULL, 2 * nr_rows + 1, sizeof(*edges));
	size_t nr = 0;

	for (size_t i = 0; i < nr_rows; i++) {
		uint64_t start = rows[i].start_ns, ns = rows[i].duration_ns;
		uint64_t end = ns > UINT64_MAX - start ? UINT64_MAX : start + ns;

		if (!fills_multiprocessors(&rows[i]))
			continue;
		edges[nr++] = (struct edge){ start, (uint32_t)i, false };
		edges[nr++] = (struct edge){ end, (uint32_t)i, true };
	}
	qsort_r(edges, nr, sizeof(*edges), compare_edges, (void *)rows);
	*ret_nr = nr;
	return edges;
}

static void pass_edge(struct sweep *s, const struct edge *e)
{
	const struct fact_gpu_activity *a = &s->activities[e->row];
	unsigned ppm;

	if (a->kind != GPU_WORK_KERNEL || !s->device || !occupancy_of_launch(s->device, a, &ppm))
		s->unknown += e->ends ? -1u : 1u;
	else
		s->ppm += e->ends ? -(uint64_t)ppm : ppm;
}

static void add_step(struct sweep *s, const struct fact_gpu_activity *a, uint64_t time_ns)
{
	const struct occupancy_step *before = s->nr_steps ? &s->steps[s->nr_steps - 1] : NULL;
	struct occupancy_step step = { a->pid, a->device, time_ns, 0, s->unknown };

	step.ppm = s->ppm < ALL_WARPS ? (unsigned)s->ppm : ALL_WARPS;
	if (before && before->pid == step.pid && before->device == step.device &&
	    before->ppm == step.ppm && before->unknown == step.unknown)
		return;
	s->steps = xgrow(s->steps, &s->capacity, s->nr_steps + 1, sizeof(*s->steps));
	s->steps[s->nr_steps++] = step;
}

struct occupancy_step *occupancy_steps(const struct profile *p, size_t *ret_nr)
{
	struct sweep s = { 0 };
	size_t nr_rows, nr;
	struct edge *edges;

	s.activities = facts_rows(p, FACT_GPU_ACTIVITY, &nr_rows);
	edges = list_edges(s.activities, nr_rows, &nr);
	for (size_t i = 0; i < nr; i++) {
		const struct fact_gpu_activity *a = &s.activities[edges[i].row];
		bool is_last = i + 1 == nr ||
			       compare_edges(&edges[i], &edges[i + 1], (void *)s.activities);

		if (!i || !same_gpu(a, &s.activities[edges[i - 1].row]))
			s.device = facts_gpu_device(p, a->pid, a->device);
		pass_edge(&s, &edges[i]);
		if (is_last) /* of its moment */
			add_step(&s, a, edges[i].time_ns);
	}
	free(edges);
	*ret_nr = s.nr_steps;
	return s.steps;
}
