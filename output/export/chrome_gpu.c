/*
 * Makes a list of slices of each table of facts (core/profile/facts.h), which chrome_tracks.c lays
 * out in tracks. A GPU of a process is shown as a process of its own, with a track per stream.
 */
#include "output/export/chrome_gpu.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/export/chrome_tracks.h"
#include "output/report/occupancy_steps.h"

#define MAX_GPUS 1024

/* A GPU of a process. */
struct gpu {
	uint64_t pid, device;
};

struct gpu_writer {
	struct chrome_tracks tracks;
	const struct profile *p;
	const struct fact_gpu_activity *activities;
	const struct fact_range_run *runs;
	const struct fact_range *ranges;
	const uint32_t *by_id; /* indices of ranges, sorted by process and id */
	size_t nr_activities, nr_runs, nr_ranges;
	struct gpu *gpus;
	size_t nr_gpus, gpus_capacity;
};

static uint64_t end_of(uint64_t start_ns, uint64_t ns)
{
	return ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + ns;
}

static const char *thread_name(const struct gpu_writer *w, uint64_t thread)
{
	return thread == PROFILE_NONE ? "all" : profile_str(w->p, w->p->threads[thread].comm);
}

static void name_gpu(struct gpu_writer *w, const struct gpu *g, uint64_t id)
{
	const struct fact_gpu_device *d = facts_gpu_device(w->p, g->pid, g->device);
	struct buffer name = { 0 };

	buffer_printf(&name, "GPU %" PRIu64, g->device);
	if (d && d->name)
		buffer_printf(&name, ": %s", profile_str(w->p, (uint32_t)d->name));
	buffer_printf(&name, " (process %" PRIu64 ")", g->pid);
	chrome_add_name(&w->tracks, "process_name", id, 0, buffer_cstring(&name));
	buffer_fini(&name);
}

/* The id of the process that represents a GPU. */
static uint64_t id_of_gpu(struct gpu_writer *w, uint64_t pid, uint64_t device)
{
	size_t i = 0;

	while (i < w->nr_gpus && (w->gpus[i].pid != pid || w->gpus[i].device != device))
		i++;
	if (i == MAX_GPUS) /* no machine has so many */
		return CHROME_FIRST_ID + MAX_GPUS - 1;
	if (i == w->nr_gpus) {
		w->gpus = xgrow(w->gpus, &w->gpus_capacity, ++w->nr_gpus, sizeof(*w->gpus));
		w->gpus[i] = (struct gpu){ pid, device };
		name_gpu(w, &w->gpus[i], CHROME_FIRST_ID + i);
	}
	return CHROME_FIRST_ID + i;
}

static uint64_t gpu_track(void *context, const struct slice *s, struct buffer *name)
{
	struct gpu_writer *w = context;
	const struct fact_gpu_activity *a = &w->activities[s->row];

	if ((uint32_t)a->stream == UINT32_MAX) /* CUPTI_SYNCHRONIZATION_INVALID_VALUE */
		buffer_printf(name, "context %" PRIu64, a->context);
	else
		buffer_printf(name, "stream %" PRIu64, a->stream);
	if (a->kind == GPU_WORK_SYNC)
		buffer_add_string(name, ": waited for");
	return id_of_gpu(w, a->pid, s->keys[1]);
}

void chrome_gpu_add_shape(struct buffer *b, const struct fact_gpu_activity *a)
{
	buffer_printf(b,
		      ",\"grid\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],\"block\":[%" PRIu64
		      ",%" PRIu64 ",%" PRIu64 "],\"registers per thread\":%" PRIu64
		      ",\"shared memory\":%" PRIu64,
		      a->grid[0], a->grid[1], a->grid[2], a->block[0], a->block[1], a->block[2],
		      a->registers, a->shared_bytes);
}

static void add_activity(void *context, const struct slice *s, uint32_t tid)
{
	struct gpu_writer *w = context;
	static const char *const cats[NR_GPU_WORK_KINDS] = {
		[GPU_WORK_KERNEL] = "kernel",	     [GPU_WORK_MEMCPY] = "memcpy",
		[GPU_WORK_MEMSET] = "memset",	     [GPU_WORK_GRAPH] = "graph",
		[GPU_WORK_SYNC] = "synchronization",
	};
	const struct fact_gpu_activity *a = &w->activities[s->row];
	const char *cat = a->kind < NR_GPU_WORK_KINDS ? cats[a->kind] : NULL;

	chrome_begin_slice(&w->tracks, tid, s, cat ? cat : "gpu", (uint32_t)a->name);
	buffer_printf(w->tracks.b, ",\"args\":{\"correlation\":%" PRIu64 ",\"stream\":%" PRIu64,
		      a->correlation, a->stream);
	if (a->bytes)
		buffer_printf(w->tracks.b, ",\"bytes\":%" PRIu64, a->bytes);
	if (a->graph)
		buffer_printf(w->tracks.b, ",\"graph\":%" PRIu64, a->graph);
	if (a->kind == GPU_WORK_KERNEL && a->grid[0])
		chrome_gpu_add_shape(w->tracks.b, a);
	buffer_add_string(w->tracks.b, "}}");
	if (a->thread == PROFILE_NONE || a->kind == GPU_WORK_SYNC)
		return;
	chrome_begin(&w->tracks, "f", w->tracks.pid,
		     tid); /* end of the arrow that add_arrow() begins */
	chrome_add_time(&w->tracks, "ts", s->start_ns);
	buffer_printf(w->tracks.b,
		      ",\"bp\":\"e\",\"id\":%u,\"cat\":\"launch\",\"name\":\"launch\"}",
		      s->row + 1);
}

/*
 * Compares by process and context. A wait does not tell its device; another activity of its context
 * does.
 */
static int compare_contexts(const void *a, const void *b)
{
	const struct fact_gpu_activity *x = *(const struct fact_gpu_activity *const *)a;
	const struct fact_gpu_activity *y = *(const struct fact_gpu_activity *const *)b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->context, y->context);
}

/* One activity of each context that ran work, sorted. */
static const struct fact_gpu_activity **list_contexts(const struct gpu_writer *w, size_t *ret_nr)
{
	const struct fact_gpu_activity **list = xmalloc((w->nr_activities + 1) * sizeof(*list));
	size_t nr = 0, kept = 0;

	for (size_t i = 0; i < w->nr_activities; i++)
		if (w->activities[i].kind != GPU_WORK_SYNC)
			list[nr++] = &w->activities[i];
	qsort(list, nr, sizeof(*list), compare_contexts);
	for (size_t i = 0; i < nr; i++)
		if (!kept || compare_contexts(&list[kept - 1], &list[i]))
			list[kept++] = list[i];
	*ret_nr = kept;
	return list;
}

static void add_activities(struct gpu_writer *w)
{
	const struct slice_kind kind = { w, false, gpu_track, add_activity };
	struct slice *list = xmalloc((w->nr_activities + 1) * sizeof(*list));
	size_t nr_contexts;
	const struct fact_gpu_activity **contexts = list_contexts(w, &nr_contexts);

	for (size_t i = 0; i < w->nr_activities; i++) {
		const struct fact_gpu_activity *a = &w->activities[i], *const *in = NULL;
		bool waits = a->kind == GPU_WORK_SYNC;

		if (waits && nr_contexts)
			in = bsearch(&a, contexts, nr_contexts, sizeof(*contexts),
				     compare_contexts);
		list[i] = (struct slice){
			.keys = { a->pid, in ? (*in)->device : a->device, a->context << 1 | waits,
				  a->stream },
			.start_ns = a->start_ns,
			.end_ns = end_of(a->start_ns, a->duration_ns),
			.row = (uint32_t)i,
		};
	}
	chrome_add_slices(&w->tracks, list, w->nr_activities, &kind);
	free(contexts);
	free(list);
}

static uint64_t thread_track(struct gpu_writer *w, uint64_t thread, uint64_t pid, const char *what,
			     struct buffer *name)
{
	buffer_printf(name, "%s (%s)", thread_name(w, thread), what);
	return thread == PROFILE_NONE ? pid : w->p->threads[thread].pid;
}

static uint64_t call_track(void *context, const struct slice *s, struct buffer *name)
{
	struct gpu_writer *w = context;

	return thread_track(w, s->keys[1], s->keys[0], "CUDA calls", name);
}

static void add_arrow(struct gpu_writer *w, const struct slice *s, uint32_t tid)
{
	if (w->activities[s->row].kind == GPU_WORK_SYNC)
		return;
	chrome_begin(&w->tracks, "s", w->tracks.pid, tid);
	chrome_add_time(&w->tracks, "ts", s->start_ns);
	buffer_printf(w->tracks.b, ",\"id\":%u,\"cat\":\"launch\",\"name\":\"launch\"}",
		      s->row + 1);
}

static void add_call(void *context, const struct slice *s, uint32_t tid)
{
	struct gpu_writer *w = context;
	const struct fact_gpu_activity *a = &w->activities[s->row];

	chrome_begin_slice(&w->tracks, tid, s, "cuda", (uint32_t)a->call);
	buffer_printf(w->tracks.b, ",\"args\":{\"correlation\":%" PRIu64 "}}", a->correlation);
}

/* A call that launched several activities is several slices in the list, but drawn once. */
static bool same_call(const struct gpu_writer *w, const struct slice *a, const struct slice *b)
{
	return chrome_same_track(a, b) && a->start_ns == b->start_ns &&
	       w->activities[a->row].correlation == w->activities[b->row].correlation;
}

static void add_calls(struct gpu_writer *w)
{
	const struct slice_kind kind = { w, true, call_track, add_call };
	struct slice *list = xmalloc((w->nr_activities + 1) * sizeof(*list));
	uint32_t tid = 0;
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_activities; i++) {
		const struct fact_gpu_activity *a = &w->activities[i];
		uint64_t start = a->start_ns - a->call_ahead_ns;

		if (a->thread == PROFILE_NONE)
			continue;
		list[nr++] = (struct slice){
			.keys = { a->pid, a->thread },
			.start_ns = start,
			.end_ns = end_of(start, a->call_duration_ns),
			.row = (uint32_t)i,
		};
	}
	chrome_sort_slices(list, nr);
	for (size_t i = 0; i < nr; i++) {
		bool is_first = !i || !chrome_same_track(&list[i], &list[i - 1]);

		if (!i || !same_call(w, &list[i], &list[i - 1])) {
			tid = chrome_track_for(&w->tracks, &list[i], &kind, is_first);
			add_call(w, &list[i], tid);
		}
		add_arrow(w, &list[i], tid);
	}
	free(list);
}

static int compare_ranges(const void *a, const void *b, void *context)
{
	const struct fact_range *rows = context;
	const struct fact_range *x = &rows[*(const uint32_t *)a], *y = &rows[*(const uint32_t *)b];

	return ORDER(x->pid, y->pid) ?: ORDER(x->id, y->id);
}

static const struct fact_range *find_range(const struct gpu_writer *w, uint64_t pid, uint64_t id)
{
	size_t from = 0, to = w->nr_ranges;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct fact_range *r = &w->ranges[w->by_id[middle]];

		if (r->pid < pid || (r->pid == pid && r->id < id))
			from = middle + 1;
		else if (r->pid == pid && r->id == id)
			return r;
		else
			to = middle;
	}
	return NULL;
}

static uint64_t range_track(void *context, const struct slice *s, struct buffer *name)
{
	struct gpu_writer *w = context;

	return thread_track(w, s->keys[1], s->keys[0], s->keys[2] ? "NVTX, start to end" : "NVTX",
			    name);
}

static void add_range(void *context, const struct slice *s, uint32_t tid)
{
	struct gpu_writer *w = context;
	const struct fact_range_run *run = &w->runs[s->row];
	const struct fact_range *r = find_range(w, run->pid, run->range);

	chrome_begin_slice(&w->tracks, tid, s, "nvtx", r ? (uint32_t)r->name : 0);
	buffer_printf(w->tracks.b, ",\"args\":{\"launches\":%" PRIu64 ",\"gpu_ns\":%" PRIu64,
		      run->launches, run->gpu_ns);
	if (r && r->domain)
		chrome_add_text(&w->tracks, "domain", profile_str(w->p, (uint32_t)r->domain));
	buffer_add_string(w->tracks.b, "}}");
}

static void add_ranges(struct gpu_writer *w)
{
	const struct slice_kind kind = { w, true, range_track, add_range };
	struct slice *list = xmalloc((w->nr_runs + 1) * sizeof(*list));
	uint32_t *by_id = xmalloc((w->nr_ranges + 1) * sizeof(*by_id));

	for (size_t i = 0; i < w->nr_ranges; i++)
		by_id[i] = (uint32_t)i;
	qsort_r(by_id, w->nr_ranges, sizeof(*by_id), compare_ranges, (void *)w->ranges);
	w->by_id = by_id;
	for (size_t i = 0; i < w->nr_runs; i++) {
		const struct fact_range_run *run = &w->runs[i];
		const struct fact_range *r = find_range(w, run->pid, run->range);

		list[i] = (struct slice){
			.keys = { run->pid, run->thread, r && r->started },
			.start_ns = run->start_ns,
			.end_ns = end_of(run->start_ns, run->duration_ns),
			.row = (uint32_t)i,
		};
	}
	chrome_add_slices(&w->tracks, list, w->nr_runs, &kind);
	free(by_id);
	free(list);
}

static void add_memory(struct gpu_writer *w)
{
	const struct fact_gpu_memory *m;
	size_t nr;

	m = facts_rows(w->p, FACT_GPU_MEMORY, &nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t id = id_of_gpu(w, m[i].pid, m[i].device);

		chrome_begin(&w->tracks, "C", id, 0);
		chrome_add_time(&w->tracks, "ts", m[i].time_ns);
		buffer_printf(w->tracks.b,
			      ",\"name\":\"device memory\",\"args\":{\"bytes\":%" PRIu64 "}}",
			      m[i].used_bytes);
	}
}

static void add_counter(struct gpu_writer *w, const struct occupancy_step *s, const char *name)
{
	chrome_begin(&w->tracks, "C", id_of_gpu(w, s->pid, s->device), 0);
	chrome_add_time(&w->tracks, "ts", s->time_ns);
	buffer_printf(w->tracks.b, ",\"name\":\"%s\",\"args\":", name);
}

/* Each of the two counters begins with its first figure that is not 0. */
static void add_occupancy(struct gpu_writer *w)
{
	size_t nr;
	struct occupancy_step *steps = occupancy_steps(w->p, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct occupancy_step *s = &steps[i];
		bool is_first = !i || s->pid != s[-1].pid || s->device != s[-1].device;

		if (s->ppm != (is_first ? 0 : s[-1].ppm)) {
			add_counter(w, s, "occupancy");
			buffer_printf(w->tracks.b, "{\"percent\":%u.%04u}}", s->ppm / 10000,
				      s->ppm % 10000);
		}
		if (s->unknown != (is_first ? 0 : s[-1].unknown)) {
			add_counter(w, s, "work of unknown occupancy");
			buffer_printf(w->tracks.b, "{\"running\":%" PRIu32 "}}", s->unknown);
		}
	}
	free(steps);
}

uint64_t chrome_gpu_left_out(const struct profile *p)
{
	return facts_count(p, COUNTER_ACTIVITIES_LEFT_OUT);
}

const char *chrome_gpu_add(struct buffer *b, const struct profile *p, const char *separator)
{
	struct gpu_writer w = {
		.tracks = { .b = b, .p = p, .separator = separator },
		.p = p,
	};

	w.activities = facts_rows(p, FACT_GPU_ACTIVITY, &w.nr_activities);
	w.runs = facts_rows(p, FACT_RANGE_RUN, &w.nr_runs);
	w.ranges = facts_rows(p, FACT_RANGE, &w.nr_ranges);
	add_activities(&w);
	add_calls(&w);
	add_ranges(&w);
	add_memory(&w);
	add_occupancy(&w);
	chrome_tracks_fini(&w.tracks);
	free(w.gpus);
	return w.tracks.separator;
}
