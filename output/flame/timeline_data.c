/*
 * Sorts the samples of the tree by time and writes them field by field, so that numbers of one kind
 * lie together.
 */
#include "output/flame/timeline_data.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

enum { MAX_SAMPLES = 4000000 };

struct line {
	uint64_t time_us;
	uint32_t sample;
};

struct timeline {
	const struct tree *tree;
	const struct profile *p;
	struct line *lines; /* in order of time */
	size_t nr;
};

static bool is_shown(const struct tree *tree, const struct profile *p, size_t sample)
{
	const struct profile_sample *s = &p->samples[sample];

	return tree->sample_nodes[sample] != PROFILE_NONE && s->column == tree->column &&
	       s->thread != PROFILE_NONE;
}

static bool has_times(const struct tree *tree, const struct profile *p)
{
	size_t nr = 0;

	if (!tree->sample_nodes || tree->info->exact)
		return false;
	for (size_t i = 0; i < p->nr_samples; i++) {
		if (tree->sample_nodes[i] == PROFILE_NONE)
			continue;
		if (!is_shown(tree, p, i) || !p->samples[i].time_ns)
			return false;
		nr++;
	}
	return nr && nr <= MAX_SAMPLES;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return ORDER(x->time_us, y->time_us) ?: ORDER(x->sample, y->sample);
}

struct timeline *timeline_new(const struct tree *tree, const struct profile *p)
{
	uint64_t start = p->meta.start_ns;
	struct timeline *t;

	if (!has_times(tree, p))
		return NULL;
	t = xcalloc(1, sizeof(*t));
	*t = (struct timeline){ .tree = tree, .p = p };
	t->lines = xcalloc(p->nr_samples + 1, sizeof(*t->lines));
	for (size_t i = 0; i < p->nr_samples; i++) {
		uint64_t time = p->samples[i].time_ns;

		if (is_shown(tree, p, i))
			t->lines[t->nr++] = (struct line){ time > start ? (time - start) / 1000 : 0,
							   (uint32_t)i };
	}
	qsort(t->lines, t->nr, sizeof(*t->lines), compare_lines);
	return t;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	free(timeline->lines);
	free(timeline);
}

/*
 * By thread: its exact times, or zeros. Times that reach beyond those of the samples do not compare
 * with them. The caller frees the array.
 */
static struct fact_thread_time *exact_times(const struct profile *p)
{
	struct fact_thread_time *times = xcalloc(p->nr_threads + 1, sizeof(*times));
	size_t nr;
	const struct fact_thread_time *rows = facts_rows(p, FACT_THREAD_TIME, &nr);

	for (size_t i = 0; i < nr; i++)
		if (rows[i].thread < p->nr_threads && !facts_reaches_beyond(p, &rows[i]))
			times[rows[i].thread] = rows[i];
	return times;
}

/*
 * Writes the threads that have samples; returns by thread its number in the data. The caller frees
 * the array.
 */
static uint32_t *add_threads(struct buffer *b, const struct timeline *timeline)
{
	const struct profile *p = timeline->p;
	const struct line *lines = timeline->lines;
	uint32_t *numbers = xcalloc(p->nr_threads + 1, sizeof(*numbers)), nr_used = 0;
	uint32_t *pids = hosts_numbers(p);
	struct fact_thread_time *times = exact_times(p);
	struct buffer name = { 0 };

	for (size_t i = 0; i < timeline->nr; i++)
		numbers[p->samples[lines[i].sample].thread] = 1;
	for (size_t i = 0; i < p->nr_threads; i++)
		nr_used += numbers[i];
	buffer_add_varint(b, nr_used);
	nr_used = 0;
	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *t = &p->threads[i];
		const char *comm = profile_str(p, t->comm);
		const char *host = hosts_suffix(p, hosts_process(t));

		if (!numbers[i])
			continue;
		numbers[i] = nr_used++;
		name.size = 0;
		text_add_clean(&name, comm, strlen(comm));
		buffer_add_string(&name, hosts_joint(host));
		text_add_clean(&name, host, strlen(host));
		buffer_add_varint(b, pids[i]);
		/* the page finds the main thread of a process by its number */
		buffer_add_varint(b, t->tid == t->pid ? pids[i] : t->tid);
		buffer_add_varint(b, name.size);
		buffer_add(b, name.data, name.size);
		buffer_add_varint(b, times[i].wall_ns / 1000);
		buffer_add_varint(b, times[i].cpu_ns / 1000);
		buffer_add_varint(b, times[i].runnable_ns / 1000);
		buffer_add_varint(b, times[i].waiting_ns / 1000);
	}
	buffer_fini(&name);
	free(times);
	free(pids);
	return numbers;
}

void timeline_data_add(struct buffer *b, const struct timeline *timeline)
{
	const struct profile_sample *samples = timeline->p->samples;
	const struct line *lines = timeline->lines;
	uint32_t *threads = add_threads(b, timeline);
	uint64_t last = 0;

	buffer_add_varint(b, timeline->nr);
	for (size_t i = 0; i < timeline->nr; i++) {
		buffer_add_varint(b, lines[i].time_us - last);
		last = lines[i].time_us;
	}
	for (size_t i = 0; i < timeline->nr; i++)
		buffer_add_varint(b, threads[samples[lines[i].sample].thread]);
	for (size_t i = 0; i < timeline->nr; i++)
		buffer_add_varint(b, samples[lines[i].sample].weight);
	free(threads);
}

void timeline_data_add_nodes(struct buffer *b, const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->nr; i++)
		buffer_add_varint(b, timeline->tree->sample_nodes[timeline->lines[i].sample]);
}
