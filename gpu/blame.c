/*
 * Calls and CPU samples come before the work that they explain, so both are kept in rings by thread
 * (recent.h) and searched backwards from the gap. A gap is counted once, for its largest stretch.
 */
#include "gpu/blame.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"
#include "gpu/names.h"
#include "gpu/stack_builder.h"

/* Shorter stretches are too short to be explained by CPU samples. */
#define MIN_SAMPLED_NS 100000

static const char *const reasons[NR_IDLE_REASONS] = {
	[IDLE_LATE] = "launched late",
	[IDLE_SYNC] = "after a synchronization",
	[IDLE_LATENCY] = "launch latency",
	[IDLE_QUEUED] = "queued, waiting for other work",
	[IDLE_GRAPH] = "inside a graph",
	[IDLE_UNKNOWN] = "launch not seen",
	[IDLE_END] = "nothing more was launched",
};

/* A gap being cut, and its largest stretch so far: that one gets the count. */
struct cut {
	struct blame *b;
	uint32_t device;
	uint64_t largest_ns;
	uint32_t largest; /* index in sums[] */
	bool any;
};

uint32_t blame_stack(struct blame *b, uint32_t region_stack)
{
	bool is_new;
	uint32_t *stack = number_map_at(&b->stacks, region_stack, &is_new);

	if (is_new) {
		stack_builder_start(b->builder);
		stack_builder_launch(b->builder, region_stack);
		*stack = stack_builder_finish(b->builder);
	}
	return *stack;
}

static void add(struct cut *cut, enum idle_reason reason, uint32_t stack, uint64_t ns)
{
	struct blame *b = cut->b;
	uint64_t key = ((uint64_t)stack << 16 | (cut->device & 0xfff) << 4 | (uint32_t)reason);
	uint32_t *index;
	bool is_new;

	if (!ns)
		return;
	index = number_map_at(&b->sum_index, key, &is_new);
	if (is_new) {
		*index = (uint32_t)b->nr_sums++;
		b->sums = xgrow(b->sums, &b->sums_capacity, b->nr_sums, sizeof(*b->sums));
		b->sums[*index] = (struct idle_sum){
			.device = cut->device,
			.reason = reason,
			.stack = stack,
		};
	}
	b->sums[*index].ns += ns;
	if (!cut->any || ns > cut->largest_ns) {
		cut->any = true;
		cut->largest_ns = ns;
		cut->largest = *index;
	}
}

static uint64_t overlap(const struct recent_event *e, uint64_t start, uint64_t end)
{
	uint64_t from = e->start_ns > start ? e->start_ns : start;
	uint64_t to = e->end_ns < end ? e->end_ns : end;

	return to > from ? to - from : 0;
}

/* Adds the part of [start, end) that the thread spent in waiting calls; returns the rest. */
static uint64_t add_syncs(struct cut *cut, const struct idle_gap *gap, uint64_t start, uint64_t end)
{
	uint64_t left = end - start;

	for (const struct recent_event *e = recent_last(&cut->b->syncs, gap->tid);
	     e && e->end_ns > start; e = recent_before(&cut->b->syncs, e)) {
		uint64_t ns = overlap(e, start, end);

		ns = ns < left ? ns : left; /* untrusted: calls of one thread should not overlap */
		left -= ns;
		add(cut, IDLE_SYNC, blame_stack(cut->b, e->stack), ns);
	}
	return left;
}

/* True if the thread was in a waiting call at that moment. */
static bool in_sync(struct blame *b, uint32_t tid, uint64_t time_ns)
{
	const struct recent_event *e = recent_last(&b->syncs, tid);

	while (e && e->start_ns > time_ns)
		e = recent_before(&b->syncs, e);
	return e && e->end_ns >= time_ns;
}

/*
 * Adds `ns` of lateness in [start, end): in equal parts over the thread's CPU samples there, if
 * any.
 */
static void add_late(struct cut *cut, const struct idle_gap *gap, uint64_t start, uint64_t end,
		     uint64_t ns)
{
	struct recent *samples = &cut->b->samples;
	uint64_t nr = 0, each;

	if (ns >= MIN_SAMPLED_NS)
		for (const struct recent_event *e = recent_last(samples, gap->tid);
		     e && e->end_ns >= start; e = recent_before(samples, e))
			nr += e->end_ns < end && !in_sync(cut->b, gap->tid, e->end_ns);
	if (!nr) {
		add(cut, IDLE_LATE, blame_stack(cut->b, gap->stack), ns);
		return;
	}
	each = ns / nr;
	for (const struct recent_event *e = recent_last(samples, gap->tid); e && e->end_ns >= start;
	     e = recent_before(samples, e)) {
		if (e->end_ns >= end || in_sync(cut->b, gap->tid, e->end_ns))
			continue;
		add(cut, IDLE_LATE, e->stack, --nr ? each : ns);
		ns -= each;
	}
}

void blame_gap(struct blame *b, const struct idle_gap *gap)
{
	struct cut cut = { .b = b, .device = gap->device };
	uint64_t launch = gap->launch_start_ns, ns = gap->end_ns - gap->start_ns;

	if (!launch) {
		add(&cut, IDLE_UNKNOWN, blame_stack(b, gap->stack), ns);
	} else if (launch > gap->start_ns) {
		/* CPU and GPU clocks agree to some us: a start may seem to be before its launch. */
		if (launch > gap->end_ns)
			launch = gap->end_ns;
		ns = add_syncs(&cut, gap, gap->start_ns, launch);
		add_late(&cut, gap, gap->start_ns, launch, ns);
		add(&cut, IDLE_LATENCY, blame_stack(b, gap->stack), gap->end_ns - launch);
	} else if (gap->launch_end_ns > gap->start_ns) {
		add(&cut, IDLE_LATENCY, blame_stack(b, gap->stack), ns);
	} else {
		add(&cut, gap->in_graph ? IDLE_GRAPH : IDLE_QUEUED, blame_stack(b, gap->stack), ns);
	}
	if (cut.any)
		b->sums[cut.largest].gaps++;
}

void blame_end(struct blame *b, uint32_t device, uint64_t ns)
{
	struct cut cut = { .b = b, .device = device };

	/* No launch, hence no stack. */
	add(&cut, IDLE_END, b->names->sink->stack(b->names->sink, NULL, 0), ns);
	if (cut.any)
		b->sums[cut.largest].gaps++;
}

static uint32_t thread_of(struct blame *b, const struct idle_sum *sum)
{
	struct sink *sink = b->names->sink;
	char *name = xasprintf("GPU %u idle: %s", sum->device, reasons[sum->reason]);
	uint32_t thread =
		sink->thread(sink, (uint32_t)b->names->opts->pid, 0, sink_cstring(sink, name));

	free(name);
	return thread;
}

void blame_flush(struct blame *b, uint64_t now_ns)
{
	for (size_t i = 0; i < b->nr_sums; i++) {
		struct idle_sum *sum = &b->sums[i];
		struct profile_sample sample = {
			.time_ns = now_ns,
			.weight = sum->ns,
			.stack = sum->stack,
			.column = COLUMN_GPU_IDLE,
		};

		if (!sum->ns)
			continue;
		sample.thread = thread_of(b, sum);
		b->names->sink->sample(b->names->sink, &sample);
		sample.weight = sum->gaps;
		sample.column = COLUMN_GPU_GAPS;
		if (sum->gaps)
			b->names->sink->sample(b->names->sink, &sample);
		sum->ns = sum->gaps = 0;
	}
}

void blame_fini(struct blame *b)
{
	recent_fini(&b->syncs);
	recent_fini(&b->samples);
	number_map_fini(&b->stacks);
	number_map_fini(&b->sum_index);
	free(b->sums);
}
