/*
 * A native frame runs a run of Python frames if its stack range holds the run's boundary, or,
 * before 3.10, if its pc is in the eval function (core/portable/pyframes.h).
 */
#include "sampler/runtimes/python/merge_frames.h"

#include <stdbool.h>
#include <string.h>

#include "core/portable/frames.h"
#include "core/portable/pycode.h"

struct merge {
	const struct python_runs *runs;
	size_t at; /* the boundary of the next run */
	uint64_t *merged;
	size_t nr, max;
};

static void add(struct merge *m, uint64_t frame)
{
	if (m->nr < m->max)
		m->merged[m->nr++] = frame;
}

static void add_run(struct merge *m)
{
	for (m->at++; m->at < m->runs->nr && FRAME_IS_PYTHON(m->runs->words[m->at]); m->at++)
		add(m, m->runs->words[m->at]);
}

static bool calls_eval(const struct native_stack *native, const struct python_runs *runs, size_t i)
{
	uint64_t frame = native->frames[i], pc = frame & ~FRAME_EXACT;

	return pc - !(frame & FRAME_EXACT) - runs->eval_start < runs->eval_size;
}

static bool runs_python(const struct merge *m, const struct native_stack *native, size_t i)
{
	uint64_t boundary;

	if (m->at >= m->runs->nr)
		return false;
	boundary = m->runs->words[m->at];
	if (!boundary)
		return calls_eval(native, m->runs, i);
	return i + 1 < native->nr &&
	       boundary - native->sps[i] < native->sps[i + 1] - native->sps[i];
}

size_t python_merge(const struct native_stack *native, const struct python_runs *runs,
		    uint64_t *merged, size_t max)
{
	struct merge m = { .runs = runs, .merged = merged, .max = max };

	for (size_t i = 0; i < native->nr; i++) {
		if (runs_python(&m, native, i))
			add_run(&m);
		else
			add(&m, native->frames[i]);
	}
	while (m.at < runs->nr)
		add_run(&m);
	return m.nr;
}

bool python_merge_fits(const struct native_stack *native, const struct python_runs *runs,
		       bool complete, size_t *ret_leaf)
{
	struct merge m = { .runs = runs }; /* it has no room for frames */
	size_t nr_calls = 0, nr_runs = 0, innermost = 0;

	*ret_leaf = 0;
	for (size_t i = 0; i < native->nr; i++) {
		if (calls_eval(native, runs, i) && !nr_calls++)
			innermost = i;
		if (runs_python(&m, native, i)) {
			add_run(&m);
			nr_runs++;
		}
	}
	if (!complete)
		return true;
	if (runs->eval_size && nr_calls == nr_runs + 1)
		*ret_leaf = innermost + 1;
	else if (runs->eval_size && nr_calls != nr_runs)
		return false;
	return m.at >= runs->nr;
}

size_t python_merge_cut(uint64_t *to, const uint64_t *from, size_t nr, size_t max)
{
	size_t nr_root = max / 4, gap = max - nr_root;

	if (nr <= max) {
		memcpy(to, from, nr * sizeof(*to));
		return 0;
	}
	memcpy(to, from, gap * sizeof(*to));
	memcpy(to + gap, from + nr - nr_root, nr_root * sizeof(*to));
	return gap;
}
