/*
 * A sweep over starts and ends, with two heaps per device: work that waits to be placed, by start,
 * and work that is running, by end.
 */
#include "gpu/timeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"
#include "gpu/blame.h"
#include "gpu/names.h"

#define REORDER_NS 2000000000ull /* how late a record may come whose call was not seen */
#define CLOCK_ERROR_NS 1000000u	 /* how long before its call work may seem to begin */
#define MAX_WAITING (1u << 20)	 /* 64 MiB; beyond it the oldest are placed early */

_Static_assert(TIMELINE_DEVICES == GPU_MAX_DEVICES, "devices of the region");

static uint64_t key_of(const struct timeline_work *w, bool by_end)
{
	return by_end ? w->end_ns : w->start_ns;
}

static void heap_push(struct timeline_heap *h, const struct timeline_work *work, bool by_end)
{
	size_t at = h->nr++;

	h->items = xgrow(h->items, &h->capacity, h->nr, sizeof(*h->items));
	for (; at && key_of(&h->items[(at - 1) / 2], by_end) > key_of(work, by_end);
	     at = (at - 1) / 2)
		h->items[at] = h->items[(at - 1) / 2];
	h->items[at] = *work;
}

static struct timeline_work heap_pop(struct timeline_heap *h, bool by_end)
{
	struct timeline_work top = h->items[0], last = h->items[--h->nr];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < h->nr) {
		if (child + 1 < h->nr &&
		    key_of(&h->items[child + 1], by_end) < key_of(&h->items[child], by_end))
			child++;
		if (key_of(&h->items[child], by_end) >= key_of(&last, by_end))
			break;
		h->items[at] = h->items[child];
		at = child;
	}
	h->items[at] = last;
	return top;
}

/* Adds the time up to to_ns to the sums, by what is running. */
static void pass(struct timeline_device *d, uint64_t to_ns)
{
	uint64_t ns = to_ns - d->now_ns;
	bool kernel = d->nr_running[TIMELINE_KERNEL], copy = d->nr_running[TIMELINE_COPY];
	bool communication = d->nr_running[TIMELINE_COMMUNICATION];

	if (d->running.nr)
		d->busy_ns += ns;
	else
		d->idle_ns += ns;
	d->kernel_ns += kernel || communication ? ns : 0;
	d->copy_ns += copy ? ns : 0;
	d->overlap_ns += copy && (kernel || communication) ? ns : 0;
	d->exposed_ns += communication && !kernel ? ns : 0;
	d->now_ns = to_ns;
}

/* Takes out all work that ends by then. */
static void end_until(struct timeline_device *d, uint64_t until_ns)
{
	while (d->running.nr && d->running.items[0].end_ns <= until_ns) {
		struct timeline_work w;

		pass(d, d->running.items[0].end_ns);
		w = heap_pop(&d->running, true);
		d->nr_running[w.class]--;
		d->last_graph_launch = w.graph ? w.graph_launch : 0;
	}
}

static void start_work(struct timeline *t, uint32_t device, struct timeline_work *w)
{
	struct timeline_device *d = &t->devices[device];

	end_until(d, w->start_ns);
	if (w->end_ns <= d->now_ns && w->start_ns < d->now_ns) {
		t->nr_late++;
		return;
	}
	if (w->start_ns < d->now_ns) { /* its beginning was counted already, as idle or busy */
		t->nr_late++;
		w->start_ns = d->now_ns;
	}
	if (!d->running.nr && w->start_ns > d->now_ns) {
		const struct idle_gap gap = {
			.start_ns = d->now_ns,
			.end_ns = w->start_ns,
			.launch_start_ns = w->launch_start_ns,
			.launch_end_ns = w->launch_end_ns,
			.device = device,
			.tid = w->tid,
			.stack = w->stack,
			.in_graph = w->graph && w->graph_launch &&
				    w->graph_launch == d->last_graph_launch,
		};

		blame_gap(t->blame, &gap);
	}
	pass(d, w->start_ns);
	d->nr_running[w->class]++;
	heap_push(&d->running, w, true);
}

static void watch(struct timeline *t, struct timeline_device *d, const struct timeline_work *first)
{
	uint64_t from = t->watched_from_ns;

	if (!from || from > first->start_ns)
		from = first->launch_start_ns && first->launch_start_ns < first->start_ns
			       ? first->launch_start_ns
			       : first->start_ns;
	d->watched = true;
	d->start_ns = d->now_ns = from;
}

static void start_until(struct timeline *t, uint32_t device, uint64_t until_ns)
{
	struct timeline_device *d = &t->devices[device];

	while (d->waiting.nr && d->waiting.items[0].start_ns <= until_ns) {
		struct timeline_work w = heap_pop(&d->waiting, false);

		if (!d->watched)
			watch(t, d, &w);
		start_work(t, device, &w);
	}
}

void timeline_add(struct timeline *t, uint32_t device, const struct timeline_work *work)
{
	struct timeline_device *d;

	if (device >= TIMELINE_DEVICES || work->end_ns < work->start_ns)
		return;
	d = &t->devices[device];
	heap_push(&d->waiting, work, false);
	if (d->waiting.nr > MAX_WAITING)
		start_until(t, device, d->waiting.items[0].start_ns);
}

void timeline_advance(struct timeline *t, uint64_t now_ns, uint64_t awaited_ns)
{
	uint64_t until = now_ns > REORDER_NS ? now_ns - REORDER_NS : 0;
	uint64_t known = awaited_ns > CLOCK_ERROR_NS ? awaited_ns - CLOCK_ERROR_NS : 0;

	for (uint32_t i = 0; i < TIMELINE_DEVICES; i++)
		start_until(t, i, known < until ? known : until);
}

void timeline_finish(struct timeline *t, uint64_t end_ns)
{
	for (uint32_t i = 0; i < TIMELINE_DEVICES; i++) {
		struct timeline_device *d = &t->devices[i];

		start_until(t, i, UINT64_MAX);
		end_until(d, UINT64_MAX);
		if (!d->watched || d->now_ns >= end_ns)
			continue;
		blame_end(t->blame, i, end_ns - d->now_ns);
		pass(d, end_ns);
	}
}

/* "GPU-01234567-89ab-...", as nvidia-smi writes it; "" if it is unknown. */
static void write_uuid(const uint8_t uuid[16], char text[48])
{
	size_t at = (size_t)snprintf(text, 48, "GPU-");
	uint8_t any = 0;

	for (int i = 0; i < 16; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;

		any |= uuid[i];
		at += (size_t)snprintf(text + at, 48 - at, "%s%02x", dash ? "-" : "", uuid[i]);
	}
	if (!any)
		text[0] = '\0';
}

void timeline_write_devices(struct timeline *t)
{
	struct sink *sink = t->names->sink;

	for (uint32_t i = 0; i < TIMELINE_DEVICES; i++) {
		const struct timeline_device *d = &t->devices[i];
		struct gpu_device known = { 0 };
		struct fact_gpu_device row;
		char uuid[48];

		if (!shared_region_device(t->names->region, i, &known) && !d->watched)
			continue;
		write_uuid(known.uuid, uuid);
		row = (struct fact_gpu_device){
			.pid = (uint64_t)t->names->opts->pid,
			.device = i,
			.name = names_string(t->names, known.name),
			.uuid = sink_cstring(sink, uuid),
			.memory_bytes = known.memory_bytes,
			.memory_bytes_per_s = known.memory_bytes_per_s,
			.cc_major = known.cc_major,
			.cc_minor = known.cc_minor,
			.nr_sms = known.nr_sms,
			.warp_threads = known.warp_threads,
			.max_warps_per_sm = known.max_warps_per_sm,
			.max_blocks_per_sm = known.max_blocks_per_sm,
			.max_registers_per_sm = known.max_registers_per_sm,
			.max_shared_per_sm = known.max_shared_per_sm,
			.clock_khz = known.core_clock_khz,
			.peak_bytes = known.peak_bytes,
			.start_ns = d->start_ns,
			.end_ns = d->now_ns,
			.busy_ns = d->busy_ns,
			.idle_ns = d->idle_ns,
			.kernel_ns = d->kernel_ns,
			.copy_ns = d->copy_ns,
			.overlap_ns = d->overlap_ns,
			.exposed_ns = d->exposed_ns,
		};
		sink->fact(sink, FACT_GPU_DEVICE, &row);
	}
}

void gpu_timeline_fini(struct timeline *t)
{
	for (uint32_t i = 0; i < TIMELINE_DEVICES; i++) {
		free(t->devices[i].waiting.items);
		free(t->devices[i].running.items);
	}
}
