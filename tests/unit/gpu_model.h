/*
 * What a recording of a random schedule (gpu_schedule.h) must say. The model knows no heaps, rings
 * or sweeps: all work of a device is an array of intervals, which is cut at every start and end and
 * searched for each piece.
 */
#ifndef SPROF_TESTS_GPU_MODEL_H
#define SPROF_TESTS_GPU_MODEL_H

#include "tests/unit/gpu_schedule.h"

/* The kind of the sums that the work is in. */
static inline uint8_t fold_kind_of(const struct work *w)
{
	return w->type == GPU_RECORD_KERNEL   ? GPU_FOLD_KERNEL
	       : w->type == GPU_RECORD_MEMCPY ? GPU_FOLD_MEMCPY
	       : w->type == GPU_RECORD_MEMSET ? GPU_FOLD_MEMSET
					      : GPU_FOLD_GRAPH;
}

/* The number of the drain that reads what is written then; the end of the process is the last. */
static inline int read_at(const struct schedule *s, const struct process *p, uint64_t written_ns)
{
	int i = 0;

	while (i < s->nr_drains && s->drains[i] < p->end_ns && s->drains[i] < written_ns)
		i++;
	return i;
}

/* Was the work's call read by the drain after the one that read the work? */
static inline bool knows_call(const struct schedule *s, const struct process *p,
			      const struct work *w)
{
	return w->call >= 0 && p->calls[w->call].end_ns <= p->end_ns &&
	       read_at(s, p, p->calls[w->call].end_ns) <= read_at(s, p, w->written_ns) + 1;
}

static inline bool is_placed(const struct work *w)
{
	return !w->untimed && !w->future && !w->dropped;
}

struct device_times {
	uint64_t start_ns, end_ns, busy, kernel, copy, overlap, exposed;
	uint64_t work_ns; /* of all work, one by one */
	bool used;
};

static inline uint64_t capture_end(const struct process *p)
{
	uint64_t end_ns = p->end_ns, last = 0;

	for (uint32_t i = 0; i < p->nr_windows && p->windows[i].start_ns <= p->end_ns; i++)
		last = p->windows[i].end_ns <= p->end_ns ? p->windows[i].end_ns : 0;
	if (p->stopped_ns && p->stopped_ns < end_ns)
		end_ns = p->stopped_ns;
	return last && last < p->end_ns ? last : end_ns;
}

/* Adds the stretch between two moments at which nothing changes. */
static inline void add_stretch(struct device_times *t, const struct process *p, uint32_t device,
			       uint64_t from, uint64_t to)
{
	bool gemm = false, nccl = false, copy = false, kernel;

	for (int i = 0; i < p->nr_works; i++) {
		const struct work *w = &p->works[i];

		if (w->device != device || !is_placed(w) || w->start_ns > from || w->end_ns < to)
			continue;
		copy |= w->type == GPU_RECORD_MEMCPY || w->type == GPU_RECORD_MEMSET;
		nccl |= w->type == GPU_RECORD_KERNEL && w->name == 1;
		gemm |= w->type == GPU_RECORD_GRAPH ||
			(w->type == GPU_RECORD_KERNEL && w->name == 0);
	}
	kernel = gemm || nccl;
	t->busy += kernel || copy ? to - from : 0;
	t->kernel += kernel ? to - from : 0;
	t->copy += copy ? to - from : 0;
	t->overlap += kernel && copy ? to - from : 0;
	t->exposed += nccl && !gemm ? to - from : 0;
}

static inline int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static inline struct device_times model_device(const struct process *p, uint32_t device)
{
	uint64_t cuts[2 * MAX_WORKS];
	struct device_times t = {
		.start_ns = p->nr_windows ? p->windows[0].start_ns : p->active_ns,
		.end_ns = capture_end(p),
	};
	size_t nr = 0;

	for (int i = 0; i < p->nr_works; i++) {
		const struct work *w = &p->works[i];

		if (w->device != device || !is_placed(w))
			continue;
		t.used = true;
		t.work_ns += w->end_ns - w->start_ns;
		cuts[nr++] = w->start_ns;
		cuts[nr++] = w->end_ns;
		t.start_ns = w->start_ns < t.start_ns ? w->start_ns : t.start_ns;
		t.end_ns = w->end_ns > t.end_ns ? w->end_ns : t.end_ns;
	}
	qsort(cuts, nr, sizeof(*cuts), compare_times);
	for (size_t i = 1; i < nr; i++)
		add_stretch(&t, p, device, cuts[i - 1], cuts[i]);
	return t;
}

#endif
