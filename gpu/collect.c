/*
 * Owns all parts of the collector. Drains the rings, hands each record to the parts that need it,
 * and has sums and tables written from time to time.
 */
#include "gpu/collect.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/source.h"
#include "core/untrusted/job_rank.h"
#include "gpu/activities.h"
#include "gpu/api_calls.h"
#include "gpu/blame.h"
#include "gpu/estimates.h"
#include "gpu/memory_points.h"
#include "gpu/names.h"
#include "gpu/runs.h"
#include "gpu/stack_builder.h"
#include "gpu/sums.h"
#include "gpu/tables.h"
#include "gpu/timeline.h"

/*
 * Sums are written after 1 / FLUSH_SHARE of the time so far has passed again: a day is written in
 * some hundred pieces, and a recorder that is killed loses at most that share.
 */
#define FLUSH_SHARE 64
#define FLUSH_MIN_NS 1000000000ull
#define FUTURE_NS 1000000000ull /* work that ends later than now by more is refused: untrusted */

struct gpu_collect {
	struct shared_region *region;
	struct gpu_collect_opts opts;
	struct names names;
	struct stack_builder builder;
	struct sums sums;
	struct flops flops;
	struct kernel_samples kernel_samples;
	struct tables tables;
	struct api_calls calls;
	struct runs runs;
	struct blame blame;
	struct timeline timeline;
	struct activities activities;
	struct memory_points memory;
	struct estimates estimates;
	union gpu_any_record *postponed; /* work whose call has not come yet */
	size_t nr_postponed, postponed_capacity;
	uint64_t nr_without_call, nr_in_future;
	uint64_t nr_without_record;	 /* launches */
	uint64_t nr_lost;		 /* as of shared_region.h, in the last drain */
	bool has_lost;			 /* and it had grown then */
	struct number_map communication; /* by name of a kernel: 1 = it communicates */
	uint64_t start_ns, flushed_ns, now_ns, stopped_ns;
	bool ended_at_once; /* the target has not written what it had at its end */
};

/* Told here too, because a process may use a GPU and never be sampled. */
static void tell_rank(struct sink *sink, pid_t pid)
{
	struct job_rank rank;

	if (job_rank_of_process(pid, &rank))
		sink->fact(sink, FACT_RANK,
			   &(struct fact_rank){ .pid = (uint64_t)pid,
						.rank = rank.rank,
						.local_rank = rank.local_rank,
						.nr_ranks = rank.nr_ranks });
}

struct gpu_collect *gpu_collect_new(struct shared_region *region,
				    const struct gpu_collect_opts *opts, struct sink *sink)
{
	struct gpu_collect *c = xcalloc(1, sizeof(*c));

	c->region = region;
	c->opts = *opts;
	names_init(&c->names, region, &c->opts, sink);
	c->builder.names = &c->names;
	c->sums.names = &c->names;
	c->sums.builder = &c->builder;
	c->sums.flops = &c->flops;
	c->flops.names = &c->names;
	c->flops.builder = &c->builder;
	c->kernel_samples.names = &c->names;
	c->kernel_samples.builder = &c->builder;
	c->tables.names = &c->names;
	c->tables.sums = &c->sums;
	c->runs.names = &c->names;
	c->blame.names = &c->names;
	c->blame.builder = &c->builder;
	c->timeline.names = &c->names;
	c->timeline.blame = &c->blame;
	c->activities.names = &c->names;
	c->memory.names = &c->names;
	c->estimates.names = &c->names;
	c->estimates.limit_ppm = opts->max_overhead_ppm;
	names_thread(&c->names, 0); /* now, while /proc has the name of the process */
	tell_rank(sink, opts->pid);
	return c;
}

static void take_call(struct gpu_collect *c, const struct gpu_rec_api *call)
{
	api_calls_add(&c->calls, call);
	names_note_call(&c->names, call->stack, call->name);
	if (call->api_class == GPU_API_SYNC || call->api_class == GPU_API_MEMCPY)
		recent_add(&c->blame.syncs, call->head.tid, call->start_ns, call->end_ns,
			   call->stack);
}

/* True for names of kernels of NCCL, RCCL and NVSHMEM. */
static bool names_communication(const char *name)
{
	/* NCCL: ncclKernel_ before 2.19; the last two use symmetric memory, from 2.27 on */
	static const char *const parts[] = { "ncclDevKernel", "ncclKernel", "ncclSymDevKernel",
					     "ncclSymkDevKernel", "nvshmem" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static bool is_communication(struct gpu_collect *c, uint32_t name)
{
	bool is_new;
	uint32_t *known = number_map_at(&c->communication, name, &is_new);
	struct buffer text = { 0 };

	if (is_new && shared_region_string(c->region, name, &text))
		*known = names_communication(buffer_cstring(&text));
	buffer_fini(&text);
	return *known;
}

static uint8_t class_of(struct gpu_collect *c, const union gpu_any_record *record)
{
	if (record->head.type == GPU_RECORD_MEMCPY || record->head.type == GPU_RECORD_MEMSET)
		return TIMELINE_COPY;
	if (record->head.type == GPU_RECORD_KERNEL && is_communication(c, record->kernel.name))
		return TIMELINE_COMMUNICATION;
	return TIMELINE_KERNEL;
}

static uint32_t correlation_of(const union gpu_any_record *record)
{
	return record->head.type == GPU_RECORD_UNTIMED ? record->untimed.correlation
						       : record->work.correlation;
}

/*
 * Is it known what the devices did then? Not if kernels are left out, and not between windows: the
 * timeline ends where these begin.
 */
static bool is_watched(const struct gpu_collect *c, struct timeline_work *work)
{
	uint64_t end = c->estimates.windows_ns;

	if (c->opts.without_kernels || (end && work->start_ns >= end))
		return false;
	if (end && work->end_ns > end)
		work->end_ns = end;
	return true;
}

static void place_work(struct gpu_collect *c, const union gpu_any_record *record,
		       const struct api_call *call)
{
	const struct gpu_work *w = &record->work;
	struct timeline_work work;

	if (record->head.type == GPU_RECORD_UNTIMED) {
		api_calls_has_record(&c->calls, record->untimed.correlation, 0, c->now_ns);
		return;
	}
	api_calls_has_record(&c->calls, w->correlation, w->graph, c->now_ns);
	if (w->end_ns > c->now_ns && w->end_ns - c->now_ns > FUTURE_NS) {
		c->nr_in_future++;
		return;
	}
	activities_take(&c->activities, record, call);
	if (w->head.type == GPU_RECORD_SYNC) /* the host waits, the GPU does nothing */
		return;
	work = (struct timeline_work){
		.start_ns = w->start_ns,
		.end_ns = w->end_ns,
		.launch_start_ns = call ? call->start_ns : 0,
		.launch_end_ns = call ? call->end_ns : 0,
		.tid = w->head.tid,
		.stack = w->stack,
		.graph = w->graph,
		.graph_launch = w->correlation,
		.class = class_of(c, record),
	};
	if (is_watched(c, &work))
		timeline_add(&c->timeline, w->device, &work);
	if (work.class == TIMELINE_COMMUNICATION)
		activities_take_collective(&c->activities, record, call,
					   w->stack ? blame_stack(&c->blame, w->stack)
						    : PROFILE_NONE);
	if (call)
		runs_take_work(&c->runs, w, call->start_ns);
	else
		c->nr_without_call++;
}

/*
 * A call may be made after its ring was read and before that of the GPU: wait for the next drain.
 */
static void take_work(struct gpu_collect *c, const union gpu_any_record *record)
{
	const struct api_call *call = api_calls_find(&c->calls, correlation_of(record));

	if (call) {
		place_work(c, record, call);
		return;
	}
	c->postponed = xgrow(c->postponed, &c->postponed_capacity, c->nr_postponed + 1,
			     sizeof(*c->postponed));
	c->postponed[c->nr_postponed++] = *record;
}

static void take_record(void *context, const union gpu_any_record *record)
{
	struct gpu_collect *c = context;

	switch ((enum gpu_record_type)record->head.type) {
	case GPU_RECORD_API: take_call(c, &record->api); break;
	case GPU_RECORD_KERNEL:
	case GPU_RECORD_MEMCPY:
	case GPU_RECORD_MEMSET:
	case GPU_RECORD_SYNC:
	case GPU_RECORD_GRAPH:
	case GPU_RECORD_UNTIMED: take_work(c, record); break;
	case GPU_RECORD_MEMORY:
		runs_take_memory(&c->runs, &record->memory);
		memory_points_take(&c->memory, &record->memory);
		break;
	case GPU_RECORD_RANGE: runs_take_range(&c->runs, &record->range, c->now_ns); break;
	case GPU_RECORD_POOL: memory_points_take_pool(&c->memory, &record->pool); break;
	case GPU_RECORD_PAD:
	case GPU_RECORD_OVERHEAD:
	case GPU_RECORD_MARK:
	case GPU_RECORD_NAME:
	case GPU_RECORD_DROPS: break;
	}
}

static size_t take_records(struct gpu_collect *c, uint64_t now_ns)
{
	size_t nr_before = c->nr_postponed, nr;

	names_look_up_stacks(&c->names);
	estimates_take_levels(&c->estimates);
	c->now_ns = now_ns;
	nr = shared_region_drain(c->region, take_record, c);
	for (size_t i = 0; i < nr_before; i++)
		place_work(c, &c->postponed[i],
			   api_calls_find(&c->calls, correlation_of(&c->postponed[i])));
	if (nr_before)
		memmove(c->postponed, c->postponed + nr_before,
			(c->nr_postponed - nr_before) * sizeof(*c->postponed));
	c->nr_postponed -= nr_before;
	return nr;
}

static void flush(struct gpu_collect *c, uint64_t now_ns, bool is_last)
{
	sums_flush(&c->sums, now_ns);
	flops_flush(&c->flops);
	kernel_samples_flush(&c->kernel_samples, now_ns, is_last);
	tables_flush(&c->tables);
	timeline_write_devices(&c->timeline);
	blame_flush(&c->blame, now_ns);
	memory_points_flush(&c->memory, now_ns);
	c->flushed_ns = now_ns;
}

/* With capture windows, devices are watched from the start of the first to the end of the last. */
static void look_at_windows(struct gpu_collect *c, const struct gpu_region *header)
{
	uint32_t nr = header->nr_windows;
	uint64_t end = nr ? header->windows[gpu_window_place(nr - 1)].end_ns : 0;

	c->timeline.watched_from_ns = nr ? header->windows[0].start_ns : 0;
	if (end)
		c->stopped_ns = end;
}

static void look_at_header(struct gpu_collect *c)
{
	struct gpu_region *header = xmalloc(sizeof(*header));

	shared_region_header(c->region, header);
	c->timeline.watched_from_ns = header->active_ns;
	c->stopped_ns = header->stopped_ns;
	c->calls.want = header->config.want;
	if (header->config.capture)
		look_at_windows(c, header);
	c->ended_at_once = header->state == GPU_STATE_ACTIVE;
	free(header);
}

/*
 * Which calls have lost their records is not known, so none that began before that is awaited. A
 * loss that one drain sees may be that of a call after its now_ns, so it counts in the next one.
 */
static void look_for_losses(struct gpu_collect *c, uint64_t now_ns)
{
	uint64_t nr = shared_region_nr_activities_lost(c->region);

	if (c->has_lost)
		c->calls.lost_ns = now_ns;
	c->has_lost = nr != c->nr_lost;
	c->nr_lost = nr;
}

size_t gpu_collect_drain(struct gpu_collect *c, uint64_t now_ns)
{
	uint64_t since, awaited_ns;
	size_t nr;

	if (!c->timeline.watched_from_ns)
		look_at_header(c);
	look_for_losses(c, now_ns);
	nr = take_records(c, now_ns);
	awaited_ns = api_calls_oldest_awaited(&c->calls, now_ns);
	if (!c->start_ns)
		c->start_ns = c->flushed_ns = now_ns;
	timeline_advance(&c->timeline, now_ns, awaited_ns);
	runs_flush(&c->runs, now_ns, awaited_ns);
	since = now_ns - c->flushed_ns;
	if (since >= FLUSH_MIN_NS && since >= (now_ns - c->start_ns) / FLUSH_SHARE)
		flush(c, now_ns, false);
	return nr;
}

void gpu_collect_cpu_sample(struct gpu_collect *c, uint32_t tid, uint64_t time_ns, uint32_t stack)
{
	recent_add(&c->blame.samples, tid, time_ns, time_ns, stack);
}

static void write_counters(struct gpu_collect *c)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "records that found a ring full", shared_region_nr_dropped(c->region) },
		{ "rings given up", shared_region_nr_broken(c->region) },
		{ "sums that made no sense", c->sums.nr_refused + c->flops.nr_refused },
		{ "samples that made no sense", c->kernel_samples.nr_refused },
		{ "activities too late for their place", c->timeline.nr_late },
		{ "activities whose call was not recorded", c->nr_without_call },
		{ "activities of graphs whose launch is not known", c->calls.nr_graph_lost },
		{ COUNTER_WITHOUT_RECORD, c->nr_without_record },
		{ "activities in the future", c->nr_in_future },
		{ COUNTER_RUNS_LEFT_OUT, c->runs.nr_left_out },
		{ COUNTER_ACTIVITIES_LEFT_OUT, c->activities.nr_left_out },
		{ COUNTER_COLLECTIVES_LEFT_OUT, c->activities.nr_collectives_left_out },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		tables_write_counter(&c->tables, counters[i].name, counters[i].value);
}

/* What CUPTI still had when the target ended, by os._exit() or a signal, is gone. */
static void note_lost_launches(struct gpu_collect *c)
{
	c->nr_without_record = c->ended_at_once ? api_calls_nr_open(&c->calls) : 0;
	if (c->nr_without_record)
		log_warning("process %d ended without its exit handlers (_exit or a signal): "
			    "%llu launches have no record",
			    (int)c->opts.pid, (unsigned long long)c->nr_without_record);
}

/* All but what gpu_collect_name_frames() needs: a job may start thousands of processes. */
static void release(struct gpu_collect *c)
{
	if (!c->region)
		return;
	sums_fini(&c->sums);
	flops_fini(&c->flops);
	kernel_samples_fini(&c->kernel_samples);
	tables_fini(&c->tables);
	gpu_timeline_fini(&c->timeline);
	runs_fini(&c->runs);
	blame_fini(&c->blame);
	memory_points_fini(&c->memory);
	api_calls_fini(&c->calls);
	number_map_fini(&c->communication);
	free(c->postponed);
	stack_builder_fini(&c->builder);
	names_release(&c->names);
	shared_region_close(c->region);
	c->region = NULL;
}

void gpu_collect_finish(struct gpu_collect *c, uint64_t now_ns)
{
	look_at_header(c); /* first: it says which calls await a record */
	take_records(c, now_ns);
	take_records(c, now_ns); /* places what the first pass postponed */
	note_lost_launches(c);
	if (c->estimates.windows_ns && (!c->stopped_ns || c->estimates.windows_ns < c->stopped_ns))
		c->stopped_ns = c->estimates.windows_ns;
	timeline_finish(&c->timeline,
			c->stopped_ns && c->stopped_ns < now_ns ? c->stopped_ns : now_ns);
	runs_flush(&c->runs, UINT64_MAX, UINT64_MAX);
	runs_write_started(&c->runs);
	flush(c, now_ns, true);
	memory_points_flush(&c->memory, UINT64_MAX);
	estimates_write(&c->estimates);
	write_counters(c);
	release(c);
}

void gpu_collect_name_frames(const struct gpu_collect *c, struct profile *vocabulary)
{
	names_apply_calls(&c->names, vocabulary);
}

void gpu_collect_free(struct gpu_collect *c)
{
	if (!c)
		return;
	release(c);
	names_fini(&c->names);
	free(c);
}
