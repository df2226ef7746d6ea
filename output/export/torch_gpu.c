/*
 * Writes events as Kineto does, the library inside torch.profiler: the process of a GPU is the
 * number of its device, and the thread of a stream the number of the stream; a call and its work
 * have one correlation id, and an arrow "ac2g" leads from the call to the work. "External id" leads
 * to the annotation in which the call was made.
 */
#include "output/export/torch_gpu.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/export/chrome_gpu.h"
#include "output/export/torch_ranges.h"
#include "output/report/occupancy.h"
#include "output/text/text.h"

#define MAX_NAMED 4096 /* GPUs and streams that get a name */

struct writer {
	struct torch_events *e;
	const struct fact_gpu_activity *activities;
	size_t nr_activities;
	struct torch_ranges ranges;
	struct {
		uint64_t device, stream;
	} * named;
	size_t nr_named, named_capacity;
};

static void add_us(struct writer *w, const char *key, uint64_t ns)
{
	buffer_printf(w->e->b, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000,
		      (unsigned int)(ns % 1000));
}

/* Times count from long before the recording, so those before its start are no problem. */
static uint64_t place(const struct writer *w, uint64_t time_ns)
{
	uint64_t at = time_ns + w->e->offset_ns, start = w->e->p->meta.start_ns;

	return at > start ? at - start : 0;
}

static void begin(struct writer *w, const char *phase, uint64_t pid, uint64_t tid)
{
	buffer_printf(w->e->b, "%s{\"ph\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64,
		      w->e->separator, phase, pid, tid);
	w->e->separator = ",\n";
}

static void add_text(struct writer *w, const char *key, const char *text)
{
	buffer_printf(w->e->b, ",\"%s\":", key);
	text_add_json(w->e->b, text);
}

static void begin_span(struct writer *w, uint64_t pid, uint64_t tid, uint64_t start_ns,
		       uint64_t duration_ns, const char *category, const char *name)
{
	begin(w, "X", pid, tid);
	add_us(w, "ts", place(w, start_ns));
	add_us(w, "dur", duration_ns);
	add_text(w, "cat", category);
	add_text(w, "name", name);
	buffer_add_string(w->e->b, ",\"args\":{");
}

static void add_name(struct writer *w, const char *what, uint64_t pid, uint64_t tid,
		     const char *key, const char *name)
{
	begin(w, "M", pid, tid);
	buffer_printf(w->e->b, ",\"name\":\"%s\",\"args\":{\"%s\":", what, key);
	text_add_json(w->e->b, name);
	buffer_add_string(w->e->b, "}}");
}

static void add_flow(struct writer *w, const char *phase, uint64_t pid, uint64_t tid, uint64_t id,
		     uint64_t time_ns)
{
	begin(w, phase, pid, tid);
	add_us(w, "ts", place(w, time_ns));
	buffer_printf(w->e->b, ",\"id\":%" PRIu64 ",\"cat\":\"ac2g\",\"name\":\"ac2g\"%s}", id,
		      *phase == 'f' ? ",\"bp\":\"e\"" : "");
}

/* Names the GPU and the stream of an event when they come up first. */
static void name_stream(struct writer *w, uint64_t device, uint64_t stream)
{
	struct buffer name = { 0 };
	bool is_new = true;

	for (size_t i = 0; i < w->nr_named; i++) {
		if (w->named[i].device == device)
			is_new = false;
		if (w->named[i].device == device && w->named[i].stream == stream)
			return;
	}
	if (w->nr_named == MAX_NAMED)
		return;
	w->named = xgrow(w->named, &w->named_capacity, w->nr_named + 1, sizeof(*w->named));
	w->named[w->nr_named].device = device;
	w->named[w->nr_named++].stream = stream;
	if (is_new) {
		buffer_printf(&name, "GPU %" PRIu64, device);
		add_name(w, "process_name", device, 0, "name", "python");
		add_name(w, "process_labels", device, 0, "labels", buffer_cstring(&name));
		buffer_fini(&name);
	}
	buffer_printf(&name, "stream %" PRIu64, stream);
	add_name(w, "thread_name", device, stream, "name", buffer_cstring(&name));
	buffer_fini(&name);
}

static const struct fact_gpu_device *device_of(const struct writer *w, uint64_t device)
{
	return facts_gpu_device(w->e->p, w->e->pid, device);
}

static void add_shape(struct writer *w, const struct fact_gpu_activity *a)
{
	const struct fact_gpu_device *d = device_of(w, a->device);
	struct buffer *b = w->e->b;
	unsigned ppm;

	chrome_gpu_add_shape(b, a);
	if (!d || !d->nr_sms || !d->warp_threads)
		return;
	double blocks =
		(double)a->grid[0] * (double)a->grid[1] * (double)a->grid[2] / (double)d->nr_sms;
	double warps = (double)a->block[0] * (double)a->block[1] * (double)a->block[2] /
		       (double)d->warp_threads;

	buffer_printf(b, ",\"blocks per SM\":%.6g,\"warps per SM\":%.6g", blocks, blocks * warps);
	if (occupancy_of_launch(d, a, &ppm))
		buffer_printf(b, ",\"est. achieved occupancy %%\":%.0f", ppm / 1e4);
}

/* Readers tell copies and fills from kernels by these words; by CUpti_ActivityMemcpyKind. */
static const char *name_of(const struct writer *w, const struct fact_gpu_activity *a)
{
	static const char *const copies[] = { "Memcpy Unknown", "Memcpy HtoD", "Memcpy DtoH",
					      "Memcpy HtoA",	"Memcpy AtoH", "Memcpy AtoA",
					      "Memcpy AtoD",	"Memcpy DtoA", "Memcpy DtoD",
					      "Memcpy HtoH",	"Memcpy PtoP" };

	if (a->kind == GPU_WORK_MEMSET)
		return "Memset (Device)";
	if (a->kind == GPU_WORK_MEMCPY)
		return copies[a->subkind < sizeof(copies) / sizeof(*copies) ? a->subkind : 0];
	return profile_str(w->e->p, (uint32_t)a->name);
}

static void add_external_id(struct writer *w, size_t activity)
{
	uint32_t run = torch_ranges_of(&w->ranges, activity);

	if (run)
		buffer_printf(w->e->b, "\"External id\":%" PRIu32 ",", run);
}

static void add_work(struct writer *w, size_t activity)
{
	static const char *const cats[NR_GPU_WORK_KINDS] = {
		[GPU_WORK_KERNEL] = "kernel",
		[GPU_WORK_MEMCPY] = "gpu_memcpy",
		[GPU_WORK_MEMSET] = "gpu_memset",
		[GPU_WORK_GRAPH] = "kernel", /* a graph whose kernels were not recorded */
	};
	const struct fact_gpu_activity *a = &w->activities[activity];
	struct buffer *b = w->e->b;

	if (a->kind >= NR_GPU_WORK_KINDS || !cats[a->kind])
		return;
	name_stream(w, a->device, a->stream);
	begin_span(w, a->device, a->stream, a->start_ns, a->duration_ns, cats[a->kind],
		   name_of(w, a));
	add_external_id(w, activity);
	buffer_printf(b,
		      "\"device\":%" PRIu64 ",\"context\":%" PRIu64 ",\"stream\":%" PRIu64
		      ",\"correlation\":%" PRIu64,
		      a->device, a->context, a->stream, a->correlation);
	if (a->graph)
		buffer_printf(b, ",\"graph id\":%" PRIu64, a->graph);
	if (a->kind == GPU_WORK_MEMCPY || a->kind == GPU_WORK_MEMSET) {
		buffer_printf(b, ",\"bytes\":%" PRIu64, a->bytes);
		if (a->duration_ns)
			buffer_printf(b, ",\"memory bandwidth (GB/s)\":%.6g",
				      (double)a->bytes / (double)a->duration_ns);
	}
	if (a->kind == GPU_WORK_KERNEL && a->grid[0])
		add_shape(w, a);
	buffer_add_string(b, "}}");
	if (a->thread != PROFILE_NONE)
		add_flow(w, "f", a->device, a->stream, a->correlation, a->start_ns);
}

static int compare_calls(const void *a, const void *b, void *context)
{
	const struct fact_gpu_activity *rows = context;
	const struct fact_gpu_activity *x = &rows[*(const uint32_t *)a];
	const struct fact_gpu_activity *y = &rows[*(const uint32_t *)b];

	/* a wait comes last, so that a call with other work is one that has an arrow */
	return ORDER(x->correlation, y->correlation)
		       ?: (x->kind == GPU_WORK_SYNC) - (y->kind == GPU_WORK_SYNC);
}

static void add_call(struct writer *w, uint32_t activity)
{
	const struct fact_gpu_activity *a = &w->activities[activity];
	const char *name = profile_str(w->e->p, (uint32_t)a->call);
	uint32_t tid = w->e->p->threads[a->thread].tid;
	uint64_t start = a->start_ns - a->call_ahead_ns;

	begin_span(w, w->e->pid, tid, start, a->call_duration_ns, "cuda_driver", name);
	add_external_id(w, activity);
	buffer_printf(w->e->b, "\"correlation\":%" PRIu64 "}}", a->correlation);
	if (a->kind != GPU_WORK_SYNC)
		add_flow(w, "s", w->e->pid, tid, a->correlation, start);
}

/* A call that launched several kernels, by a graph, is one event. */
static void add_calls(struct writer *w)
{
	uint32_t *list = xreallocarray(NULL, w->nr_activities + 1, sizeof(*list));
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_activities; i++)
		if ((uint32_t)w->activities[i].pid == w->e->pid &&
		    w->activities[i].thread != PROFILE_NONE)
			list[nr++] = (uint32_t)i;
	qsort_r(list, nr, sizeof(*list), compare_calls, (void *)w->activities);
	for (size_t i = 0; i < nr; i++)
		if (!i ||
		    w->activities[list[i]].correlation != w->activities[list[i - 1]].correlation)
			add_call(w, list[i]);
	free(list);
}

static void add_annotations(struct writer *w)
{
	const struct torch_ranges *r = &w->ranges;

	for (size_t i = 0; i < r->nr; i++) {
		const struct torch_range *range = &r->list[i];
		uint32_t tid = range->thread == PROFILE_NONE ? w->e->pid
							     : w->e->p->threads[range->thread].tid;

		begin_span(w, w->e->pid, tid, range->start_ns, range->end_ns - range->start_ns,
			   "user_annotation", profile_str(w->e->p, range->name));
		buffer_printf(w->e->b, "\"External id\":%zu}}", i + 1);
	}
	for (size_t i = 0; i < r->nr_extents; i++) {
		const struct torch_extent *at = &r->extents[i];

		begin_span(w, at->device, at->stream, at->start_ns, at->end_ns - at->start_ns,
			   "gpu_user_annotation", profile_str(w->e->p, r->list[at->range].name));
		buffer_printf(w->e->b, "\"External id\":%" PRIu32 "}}", at->range + 1);
	}
}

static void add_memory(struct writer *w)
{
	const struct fact_gpu_memory *m;
	size_t nr;

	m = facts_rows(w->e->p, FACT_GPU_MEMORY, &nr);
	for (size_t i = 0; i < nr; i++) {
		if ((uint32_t)m[i].pid != w->e->pid)
			continue;
		begin(w, "C", m[i].device, 0);
		add_us(w, "ts", place(w, m[i].time_ns));
		buffer_printf(w->e->b,
			      ",\"name\":\"device memory\",\"args\":{\"bytes\":%" PRIu64 "}}",
			      m[i].used_bytes);
	}
}

void torch_gpu_add(struct torch_events *e)
{
	struct writer w = { .e = e };

	w.activities = facts_rows(e->p, FACT_GPU_ACTIVITY, &w.nr_activities);
	torch_ranges_init(&w.ranges, e->p, e->pid);
	for (size_t i = 0; i < w.nr_activities; i++)
		if ((uint32_t)w.activities[i].pid == e->pid)
			add_work(&w, i);
	add_calls(&w);
	add_annotations(&w);
	add_memory(&w);
	torch_ranges_fini(&w.ranges);
	free(w.named);
}
