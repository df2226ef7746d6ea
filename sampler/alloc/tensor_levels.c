/*
 * The target keeps, for each device, the last totals and the highest since they were taken. A
 * change is written when enough time has passed since the last one, so a long recording has a
 * bounded number of points, and none of its peaks is lost. All that is read was written by the
 * target.
 */
#include "sampler/alloc/tensor_levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/labels.h"
#include "core/profile/source.h"
#include "core/profile/process_end.h"
#include "sampler/agent/alloc/alloc_region.h"

#define DEVICE_CPU 0u
#define LEVEL_NS (20ull * 1000 * 1000)
#define NR_EXACT 4096u	       /* points; later ones are 1 / NR_EXACT of the time apart */
#define BLOCKS_A_SECOND 10000u /* that are all recorded */
#define SAMPLES_A_SECOND 2000u /* if there are more */
#define INTERVAL_MOST (1ull << 46)
#define BYTES_MOST (1ull << 62)

struct level {
	uint64_t allocated, reserved;
};

struct tensor_device {
	struct level written, peak; /* peak: since the last point that was written */
	uint64_t first_ns, written_ns;
	uint64_t highest, highest_reserved;
	bool is_seen;
};

struct tensor_levels {
	uint32_t pid;
	struct alloc_shared *shared;
	struct tensor_device devices[ALLOC_NR_DEVICES];
	uint64_t interval, greatest_interval;
	uint64_t nr_blocks, nr_bytes; /* when the interval was set */
};

/* ---- devices */

enum memory_kind tensor_device_kind(uint32_t device)
{
	return (device & 0xff) == DEVICE_CPU ? MEMORY_CPU_TENSORS : MEMORY_GPU_TENSORS;
}

const char *tensor_device_name(uint32_t device, char name[TENSOR_DEVICE_NAME])
{
	/* c10/core/DeviceType.h: explicit values, which PyTorch only adds to */
	static const char *const types[] = { "cpu",	     "cuda",  "mkldnn", "opengl", "opencl",
					     "ideep",	     "hip",   "fpga",	"maia",	  "xla",
					     "vulkan",	     "metal", "xpu",	"mps",	  "meta",
					     "hpu",	     "ve",    "lazy",	"ipu",	  "mtia",
					     "privateuseone" };
	uint32_t type = device & 0xff;
	int index = (int8_t)(device >> 8 & 0xff);
	size_t nr = sizeof(types) / sizeof(*types);

	if (type < nr && index == -1)
		snprintf(name, TENSOR_DEVICE_NAME, "%s", types[type]);
	else if (type < nr)
		snprintf(name, TENSOR_DEVICE_NAME, "%s:%d", types[type], index);
	else
		snprintf(name, TENSOR_DEVICE_NAME, "type %u:%d", type, index);
	return name;
}

uint32_t tensor_device_label(struct sink *sink, uint32_t device)
{
	char name[TENSOR_DEVICE_NAME];
	struct buffer text = { 0 };
	uint32_t id;

	labels_add(&text, "device", tensor_device_name(device, name), NULL);
	id = sink->string(sink, (const char *)text.data, text.size);
	buffer_fini(&text);
	return id;
}

struct tensor_levels *tensor_levels_new(uint32_t pid, struct alloc_shared *shared)
{
	struct tensor_levels *l = xcalloc(1, sizeof(*l));

	l->pid = pid;
	l->shared = shared;
	l->interval = l->greatest_interval = 1;
	__atomic_store_n(&shared->tensor_interval, 1, __ATOMIC_RELAXED);
	return l;
}

void tensor_levels_free(struct tensor_levels *l)
{
	free(l);
}

/* ---- levels */

static uint64_t load(const __u64 *word)
{
	uint64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);

	return value < BYTES_MOST ? value : 0; /* a sum of frees alone is below 0 */
}

static uint64_t take_peak(__u64 *word)
{
	uint64_t value = __atomic_exchange_n(word, 0, __ATOMIC_RELAXED);

	return value < BYTES_MOST ? value : 0;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void write_level(struct tensor_levels *l, size_t i, struct level level, uint64_t time_ns,
			struct sink *sink)
{
	const struct fact_tensor_level row = {
		.pid = l->pid,
		.device = l->shared->devices[i].device - 1u,
		.time_ns = time_ns,
		.allocated_bytes = level.allocated,
		.reserved_bytes = level.reserved,
	};

	sink->fact(sink, FACT_TENSOR_LEVEL, &row);
}

static void tell(struct tensor_levels *l, size_t i, struct sink *sink)
{
	const struct alloc_device *d = &l->shared->devices[i];
	uint32_t device = d->device - 1u;
	char text[TENSOR_DEVICE_NAME];
	const char *name = tensor_device_name(device, text);
	const struct fact_tensor_memory row = {
		.pid = l->pid,
		.device = device,
		.name = sink_cstring(sink, name),
		.interval = l->greatest_interval,
		.lost = __atomic_load_n(&l->shared->nr_lost_tensors, __ATOMIC_RELAXED),
		.blocks = load(&d->nr_blocks),
		.bytes = load(&d->nr_bytes),
		.before_bytes = load(&d->before_bytes),
		.allocated_bytes = l->devices[i].written.allocated,
		.peak_bytes = l->devices[i].highest,
		.reserved_bytes = l->devices[i].written.reserved,
		.peak_reserved_bytes = l->devices[i].highest_reserved,
	};

	sink->fact(sink, FACT_TENSOR_MEMORY, &row);
}

/* `always`: also if the last point was written just now. */
static void look_at(struct tensor_levels *l, size_t i, uint64_t now, bool always, struct sink *sink)
{
	struct alloc_device *from = &l->shared->devices[i];
	struct tensor_device *d = &l->devices[i];
	struct level level = { load(&from->allocated), load(&from->reserved) };
	uint64_t gap;

	if (!__atomic_load_n(&from->device, __ATOMIC_RELAXED))
		return;
	d->first_ns = d->is_seen ? d->first_ns : now;
	d->peak.allocated = greater(d->peak.allocated, take_peak(&from->peak));
	d->peak.reserved = greater(d->peak.reserved, take_peak(&from->peak_reserved));
	d->highest = greater(d->highest, d->peak.allocated);
	d->highest_reserved = greater(d->highest_reserved, d->peak.reserved);
	gap = greater(LEVEL_NS, (now - d->first_ns) / NR_EXACT);
	if (d->is_seen && !always && now - d->written_ns < gap)
		return;
	if (d->is_seen && d->peak.allocated > greater(level.allocated, d->written.allocated))
		write_level(l, i, d->peak, d->written_ns + (now - d->written_ns) / 2, sink);
	if (!d->is_seen || memcmp(&level, &d->written, sizeof(level)) != 0)
		write_level(l, i, level, now, sink);
	d->written = level;
	d->peak = (struct level){ 0, 0 };
	d->written_ns = now;
	if (!d->is_seen) /* so that a recording that is cut off says what it has */
		tell(l, i, sink);
	d->is_seen = true;
}

void tensor_levels_drain(struct tensor_levels *l, uint64_t now, struct sink *sink)
{
	for (size_t i = 0; i < ALLOC_NR_DEVICES; i++)
		look_at(l, i, now, false, sink);
}

void tensor_levels_finish(struct tensor_levels *l, uint64_t now, struct sink *sink)
{
	for (size_t i = 0; i < ALLOC_NR_DEVICES; i++) {
		look_at(l, i, now, true, sink);
		if (l->devices[i].is_seen)
			tell(l, i, sink);
	}
}

/* ---- the interval */

uint64_t tensor_next_interval(uint64_t interval, uint64_t nr_blocks, uint64_t nr_bytes, uint64_t ns)
{
	double seconds = (double)ns / 1e9;
	double least = BLOCKS_A_SECOND * seconds, wanted = SAMPLES_A_SECOND * seconds;
	double next;

	/* It goes back to 1 at half of the rate at which it left it, lest it go to and fro. */
	if (!(wanted > 0) || (double)nr_blocks <= (interval > 1 ? least / 2 : least))
		return 1;
	next = (double)nr_bytes / wanted;
	return next < 2 ? 2 : next > (double)INTERVAL_MOST ? INTERVAL_MOST : (uint64_t)next;
}

void tensor_levels_see_interval(struct tensor_levels *l, uint64_t interval)
{
	l->greatest_interval = greater(l->greatest_interval, interval);
}

void tensor_levels_adapt(struct tensor_levels *l, uint64_t ns)
{
	uint64_t nr_blocks = 0, nr_bytes = 0;

	for (size_t i = 0; i < ALLOC_NR_DEVICES; i++) {
		nr_blocks += load(&l->shared->devices[i].nr_blocks);
		nr_bytes += load(&l->shared->devices[i].nr_bytes);
	}
	l->interval = tensor_next_interval(l->interval, nr_blocks - l->nr_blocks,
					   nr_bytes - l->nr_bytes, ns);
	l->nr_blocks = nr_blocks;
	l->nr_bytes = nr_bytes;
	l->greatest_interval = greater(l->greatest_interval, l->interval);
	__atomic_store_n(&l->shared->tensor_interval, l->interval, __ATOMIC_RELAXED);
}
