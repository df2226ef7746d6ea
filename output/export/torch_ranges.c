/*
 * Finds the ranges around each call: both are gone through together by thread and time, with the
 * open ranges on a stack. A recording is untrusted: the stack and the streams of a range are
 * bounded.
 */
#include "output/export/torch_ranges.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"

#define MAX_DEPTH 128	/* as deep as the library in the target counts ranges */
#define MAX_EXTENTS 32u /* streams of one range; its work in further streams is not shown */

/* A call with GPU work, in the order of the sweep. */
struct call {
	uint64_t thread, time_ns;
	uint32_t activity;
};

struct range_name {
	uint64_t id;
	uint32_t name;
	bool started;
};

static int compare_names(const void *a, const void *b)
{
	const struct range_name *x = a, *y = b;

	return ORDER(x->id, y->id);
}

static struct range_name *list_names(const struct profile *p, uint32_t pid, size_t *ret_nr)
{
	const struct fact_range *rows;
	size_t nr_rows, nr = 0;
	struct range_name *names;

	rows = facts_rows(p, FACT_RANGE, &nr_rows);
	names = xreallocarray(NULL, nr_rows + 1, sizeof(*names));
	for (size_t i = 0; i < nr_rows; i++)
		if ((uint32_t)rows[i].pid == pid)
			names[nr++] = (struct range_name){ rows[i].id, (uint32_t)rows[i].name,
							   rows[i].started };
	qsort(names, nr, sizeof(*names), compare_names);
	*ret_nr = nr;
	return names;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct torch_range *x = a, *y = b;

	return ORDER(x->thread, y->thread) ?: ORDER(x->start_ns, y->start_ns)
	       ?: ORDER(y->end_ns, x->end_ns);
}

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return ORDER(x->thread, y->thread) ?: ORDER(x->time_ns, y->time_ns);
}

static void list_ranges(struct torch_ranges *r, const struct profile *p, uint32_t pid)
{
	size_t nr_names, nr_runs;
	struct range_name *names = list_names(p, pid, &nr_names);
	const struct fact_range_run *runs = facts_rows(p, FACT_RANGE_RUN, &nr_runs);

	r->list = xreallocarray(NULL, nr_runs + 1, sizeof(*r->list));
	for (size_t i = 0; i < nr_runs; i++) {
		const struct range_name key = { .id = runs[i].range };
		const struct range_name *name;
		uint64_t start = runs[i].start_ns, ns = runs[i].duration_ns;

		if ((uint32_t)runs[i].pid != pid)
			continue;
		name = bsearch(&key, names, nr_names, sizeof(*names), compare_names);
		r->list[r->nr++] = (struct torch_range){
			.name = name ? name->name : 0,
			.thread = (uint32_t)runs[i].thread,
			.start_ns = start,
			.end_ns = ns > UINT64_MAX - start ? UINT64_MAX : start + ns,
			.first = UINT32_MAX,
			.crosses = name && name->started,
		};
	}
	qsort(r->list, r->nr, sizeof(*r->list), compare_ranges);
	free(names);
}

static struct call *list_calls(const struct fact_gpu_activity *rows, size_t nr_rows, uint32_t pid,
			       size_t *ret_nr)
{
	struct call *calls = xreallocarray(NULL, nr_rows + 1, sizeof(*calls));
	size_t nr = 0;

	for (size_t i = 0; i < nr_rows; i++)
		if ((uint32_t)rows[i].pid == pid && rows[i].thread != PROFILE_NONE)
			calls[nr++] = (struct call){ rows[i].thread,
						     rows[i].start_ns - rows[i].call_ahead_ns,
						     (uint32_t)i };
	qsort(calls, nr, sizeof(*calls), compare_calls);
	*ret_nr = nr;
	return calls;
}

static void extend(struct torch_ranges *r, uint32_t range, const struct fact_gpu_activity *a)
{
	uint64_t end = a->duration_ns > UINT64_MAX - a->start_ns ? UINT64_MAX
								 : a->start_ns + a->duration_ns;
	struct torch_range *in = &r->list[range];

	for (uint32_t i = in->first; i != UINT32_MAX; i = r->extents[i].next) {
		struct torch_extent *at = &r->extents[i];

		if (at->device != a->device || at->stream != a->stream)
			continue;
		at->start_ns = a->start_ns < at->start_ns ? a->start_ns : at->start_ns;
		at->end_ns = end > at->end_ns ? end : at->end_ns;
		return;
	}
	if (in->nr_extents == MAX_EXTENTS || r->nr_extents == UINT32_MAX)
		return;
	r->extents =
		xgrow(r->extents, &r->extents_capacity, r->nr_extents + 1, sizeof(*r->extents));
	r->extents[r->nr_extents] =
		(struct torch_extent){ a->device, a->stream, a->start_ns, end, range, in->first };
	in->first = (uint32_t)r->nr_extents++;
	in->nr_extents++;
}

static void sweep(struct torch_ranges *r, const struct fact_gpu_activity *rows,
		  const struct call *calls, size_t nr_calls)
{
	uint32_t open[MAX_DEPTH];
	uint32_t depth = 0;
	size_t next = 0;

	for (size_t i = 0; i < nr_calls; i++) {
		const struct call *c = &calls[i];

		if (!i || c->thread != calls[i - 1].thread)
			depth = 0;
		for (; next < r->nr &&
		       (r->list[next].thread < c->thread || (r->list[next].thread == c->thread &&
							     r->list[next].start_ns <= c->time_ns));
		     next++) {
			const struct torch_range *range = &r->list[next];

			if (range->thread != c->thread || range->crosses)
				continue;
			while (depth && r->list[open[depth - 1]].end_ns <= range->start_ns)
				depth--;
			if (depth < MAX_DEPTH)
				open[depth++] = (uint32_t)next;
		}
		while (depth && r->list[open[depth - 1]].end_ns < c->time_ns)
			depth--;
		if (!depth)
			continue;
		r->of_activity[c->activity] = open[depth - 1] + 1;
		for (uint32_t d = 0; rows[c->activity].kind != GPU_WORK_SYNC && d < depth; d++)
			extend(r, open[d], &rows[c->activity]);
	}
}

void torch_ranges_init(struct torch_ranges *r, const struct profile *p, uint32_t pid)
{
	const struct fact_gpu_activity *rows;
	size_t nr_rows, nr_calls;
	struct call *calls;

	*r = (struct torch_ranges){ 0 };
	rows = facts_rows(p, FACT_GPU_ACTIVITY, &nr_rows);
	r->of_activity = xcalloc(nr_rows + 1, sizeof(*r->of_activity));
	list_ranges(r, p, pid);
	calls = list_calls(rows, nr_rows, pid, &nr_calls);
	sweep(r, rows, calls, nr_calls);
	free(calls);
}

void torch_ranges_fini(struct torch_ranges *r)
{
	free(r->list);
	free(r->extents);
	free(r->of_activity);
}
