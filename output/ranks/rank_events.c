/* Sorts the events once, by process and time; each look-up is a binary search. */
#include "output/ranks/rank_events.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"

static int compare_events(const void *a, const void *b)
{
	const struct rank_event *x = a, *y = b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->time_ns, y->time_ns) ?: ORDER(x->index, y->index);
}

/* Columns of time that a thread spent, on a CPU or not. */
static bool is_time_of_thread(const struct profile_sample *s)
{
	return s->thread != PROFILE_NONE && s->time_ns && s->time_ns < INT64_MAX &&
	       (s->column == COLUMN_CPU || s->column == COLUMN_WALL ||
		s->column == COLUMN_WAITING || s->column == COLUMN_RUNNABLE);
}

static void take_activities(struct rank_events *e)
{
	const struct fact_gpu_activity *rows;
	size_t nr;

	rows = facts_rows(e->p, FACT_GPU_ACTIVITY, &nr);
	e->activities = xcalloc(nr + 1, sizeof(*e->activities));
	for (size_t i = 0; i < nr; i++) {
		if (rows[i].kind == GPU_WORK_SYNC || rows[i].start_ns > INT64_MAX / 4 ||
		    rows[i].duration_ns > INT64_MAX / 4)
			continue;
		e->activities[e->nr_activities++] =
			(struct rank_event){ .pid = (uint32_t)rows[i].pid,
					     .index = (uint32_t)i,
					     .time_ns = (int64_t)rows[i].start_ns };
		if ((int64_t)rows[i].duration_ns > e->longest_ns)
			e->longest_ns = (int64_t)rows[i].duration_ns;
	}
}

void rank_events_init(struct rank_events *e, const struct profile *p)
{
	*e = (struct rank_events){ .p = p };
	e->samples = xcalloc(p->nr_samples + 1, sizeof(*e->samples));
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (is_time_of_thread(s))
			e->samples[e->nr_samples++] =
				(struct rank_event){ .pid = p->threads[s->thread].pid,
						     .index = (uint32_t)i,
						     .time_ns = (int64_t)s->time_ns };
	}
	take_activities(e);
	qsort(e->samples, e->nr_samples, sizeof(*e->samples), compare_events);
	qsort(e->activities, e->nr_activities, sizeof(*e->activities), compare_events);
}

void rank_events_fini(struct rank_events *e)
{
	free(e->samples);
	free(e->activities);
}

size_t rank_events_from(const struct rank_event *list, size_t nr, uint32_t pid, int64_t time_ns)
{
	const struct rank_event key = { .pid = pid, .time_ns = time_ns };
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_events(&list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
