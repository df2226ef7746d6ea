/*
 * Sorts the samples once by thread, column and time, and cuts them into tracks where thread or
 * column changes. Two threads with one pid and tid but different names are different tracks.
 */
#include "output/export/thread_tracks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "output/tree/tree.h"

static int compare_threads(const struct profile *p, uint32_t a, uint32_t b)
{
	const struct profile_thread *x, *y;

	if (a == b || a == PROFILE_NONE || b == PROFILE_NONE)
		return ORDER(a, b);
	x = &p->threads[a];
	y = &p->threads[b];
	return ORDER(x->pid, y->pid) ?: ORDER(x->host, y->host) ?: ORDER(x->tid, y->tid)
	       ?: strcmp(profile_str(p, x->comm), profile_str(p, y->comm)) ?: ORDER(a, b);
}

static int compare_samples(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile_sample *x = &p->samples[i], *y = &p->samples[j];

	return compare_threads(p, x->thread, y->thread) ?: ORDER(x->column, y->column)
	       ?: ORDER(x->time_ns, y->time_ns) ?: ORDER(i, j);
}

static int add_up(struct timeline *t, const struct profile *p)
{
	size_t capacity = 0;
	int err = 0;

	for (size_t i = 0; i < p->nr_samples && !err; i++) {
		const struct profile_sample *s = &p->samples[t->samples[i]];
		struct track *track = t->nr_tracks ? &t->tracks[t->nr_tracks - 1] : NULL;

		if (s->column ==
		    COLUMN_LIFETIME) /* says when blocks were freed, and is not shown */
			continue;
		if (!track || track->thread != s->thread || track->column != s->column) {
			t->tracks =
				xgrow(t->tracks, &capacity, t->nr_tracks + 1, sizeof(*t->tracks));
			track = &t->tracks[t->nr_tracks++];
			*track = (struct track){ .thread = s->thread,
						 .column = s->column,
						 .first = i };
		}
		track->nr++;
		if (s->weight >= TREE_MAX_TOTAL || (track->total += s->weight) >= TREE_MAX_TOTAL)
			err = -ERANGE;
	}
	return err;
}

static uint64_t process_of(const struct profile *p, const struct track *t)
{
	return t->thread == PROFILE_NONE ? 0 : hosts_process(&p->threads[t->thread]);
}

/* Is x busier than y? Time on a CPU says more than any other column. */
static bool is_busier(const struct track *x, const struct track *y)
{
	bool x_cpu = x->column == COLUMN_CPU, y_cpu = y->column == COLUMN_CPU;

	return x_cpu != y_cpu ? x_cpu : x->total > y->total;
}

/* Names and numbers the process of each track. The tracks of a process are neighbours. */
static void name_processes(struct timeline *t, const struct profile *p)
{
	uint32_t *numbers = hosts_numbers(p);

	for (size_t first = 0, end; first < t->nr_tracks; first = end) {
		uint64_t process = process_of(p, &t->tracks[first]);
		size_t busiest = first;
		uint32_t name;

		for (end = first; end < t->nr_tracks && process_of(p, &t->tracks[end]) == process;
		     end++)
			if (is_busier(&t->tracks[end], &t->tracks[busiest]))
				busiest = end;
		name = t->tracks[busiest].thread == PROFILE_NONE
			       ? 0
			       : p->threads[t->tracks[busiest].thread].comm;
		for (size_t i = first; i < end; i++) {
			uint32_t thread = t->tracks[i].thread;

			t->tracks[i].process = name;
			t->tracks[i].pid = thread == PROFILE_NONE ? 0 : numbers[thread];
			t->tracks[i].host = thread == PROFILE_NONE ? "" : hosts_suffix(p, process);
		}
	}
	free(numbers);
}

size_t timeline_busiest(const struct timeline *t)
{
	size_t busiest = 0;

	for (size_t i = 1; i < t->nr_tracks; i++)
		if (is_busier(&t->tracks[i], &t->tracks[busiest]))
			busiest = i;
	return busiest;
}

int timeline_init(struct timeline *t, const struct profile *p)
{
	int err;

	*t = (struct timeline){ .samples = xcalloc(p->nr_samples + 1, sizeof(*t->samples)) };
	for (uint32_t i = 0; i < p->nr_samples; i++)
		t->samples[i] = i;
	qsort_r(t->samples, p->nr_samples, sizeof(*t->samples), compare_samples, (void *)p);
	err = add_up(t, p);
	if (err)
		timeline_fini(t);
	else
		name_processes(t, p);
	return err;
}

void timeline_fini(struct timeline *t)
{
	free(t->tracks);
	free(t->samples);
	*t = (struct timeline){ 0 };
}
