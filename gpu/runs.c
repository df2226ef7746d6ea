/*
 * A thread ends a range before it makes its next call, and its records keep that order. So work
 * whose call lies in no run that has ended belongs to the run that is still open.
 */
#include "gpu/runs.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "gpu/names.h"

#define SETTLE_NS 2000000000ull /* for launched work to run and its records to come */
#define MAX_WAITING (1u << 17)	/* runs that have ended and not settled */
#define MAX_LANES (1u << 16)
#define STARTED 0x80000000u /* the first id of start/end ranges */

static struct run_lane *lane_of(struct runs *r, uint32_t tid, uint32_t range)
{
	bool is_new;
	uint32_t *index;

	if (r->nr_lanes >= MAX_LANES)
		return NULL;
	index = number_map_at(&r->lane_index, (uint64_t)tid << 32 | range, &is_new);
	if (is_new) {
		*index = (uint32_t)r->nr_lanes++;
		r->lanes = xgrow(r->lanes, &r->lanes_capacity, r->nr_lanes, sizeof(*r->lanes));
		r->lanes[*index] = (struct run_lane){ 0 };
	}
	return &r->lanes[*index];
}

/* The work of the lane's run around that moment; NULL if the run was written already. */
static struct run_work *work_at(struct runs *r, struct run_lane *lane, uint64_t time_ns)
{
	uint64_t number = lane->last;

	if (!number || number <= r->first || time_ns > r->list[number - 1 - r->first].end_ns)
		return &lane->open;
	while (number > r->first) {
		struct run *run = &r->list[number - 1 - r->first];

		if (time_ns >= run->start_ns && time_ns <= run->end_ns)
			return &run->work;
		number = run->before;
	}
	return NULL;
}

static void write_run(struct runs *r, const struct run *run)
{
	struct sink *sink = r->names->sink;
	uint64_t *room = r->names->opts->run_room;
	struct fact_range_run row = {
		.pid = (uint64_t)r->names->opts->pid,
		.range = run->range,
		.thread = names_thread(r->names, run->tid),
		.start_ns = run->start_ns,
		.duration_ns = run->end_ns - run->start_ns,
		.gpu_ns = run->work.gpu_ns,
		.launches = run->work.launches,
		.gpu_start_ns = run->work.gpu_start_ns,
		.gpu_duration_ns = run->work.gpu_end_ns - run->work.gpu_start_ns,
		.net_bytes = (uint64_t)run->work.net_bytes,
		.peak_bytes = (uint64_t)run->work.peak_bytes,
	};

	if (!room || !*room) {
		r->nr_left_out++;
		return;
	}
	--*room;
	sink->fact(sink, FACT_RANGE_RUN, &row);
}

void runs_flush(struct runs *r, uint64_t now_ns, uint64_t awaited_ns)
{
	size_t settled = 0;

	while (settled < r->nr && ((now_ns - r->list[settled].seen_ns >= SETTLE_NS &&
				    r->list[settled].end_ns < awaited_ns) ||
				   r->nr - settled > MAX_WAITING))
		write_run(r, &r->list[settled++]);
	if (!settled)
		return;
	memmove(r->list, r->list + settled, (r->nr - settled) * sizeof(*r->list));
	r->nr -= settled;
	r->first += settled;
}

void runs_write_started(struct runs *r)
{
	struct sink *sink = r->names->sink;

	for (size_t i = 0; i < r->nr_started; i++)
		sink->fact(sink, FACT_RANGE, &r->started[i]);
}

/* Adds a run to its start/end range and returns the range's id: the region has none for them. */
static uint32_t started_range(struct runs *r, const struct gpu_rec_range *record)
{
	bool is_new;
	uint32_t *index = number_map_at(&r->started_index,
					(uint64_t)record->domain << 32 | record->name, &is_new);
	uint64_t ns = record->end_ns - record->start_ns;
	struct fact_range *row;

	if (is_new) {
		*index = (uint32_t)r->nr_started++;
		r->started =
			xgrow(r->started, &r->started_capacity, r->nr_started, sizeof(*r->started));
		r->started[*index] = (struct fact_range){
			.pid = (uint64_t)r->names->opts->pid,
			.id = STARTED + *index,
			.name = names_range(r->names, record->name),
			.domain = names_string(r->names, record->domain),
			.depth = 1,
			.started = 1,
			.min_ns = ns,
		};
	}
	row = &r->started[*index];
	row->calls++;
	row->total_ns += ns;
	row->min_ns = ns < row->min_ns ? ns : row->min_ns;
	row->max_ns = ns > row->max_ns ? ns : row->max_ns;
	return STARTED + *index;
}

void runs_take_range(struct runs *r, const struct gpu_rec_range *record, uint64_t now_ns)
{
	struct run run = {
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.seen_ns = now_ns,
		.tid = record->head.tid,
		.range = record->range,
	};
	struct run_lane *lane = NULL;

	/* A run that was cut off by the end of collection does not count as one. */
	if (record->end_ns < record->start_ns || record->flags & GPU_RANGE_OPEN)
		return;
	if (record->kind == GPU_RANGE_START_END) {
		run.range = started_range(r, record);
	} else {
		lane = lane_of(r, run.tid, run.range);
		if (!lane) {
			r->nr_left_out++;
			return;
		}
		run.work = lane->open;
		run.before = lane->last;
		lane->open = (struct run_work){ 0 };
		lane->last = r->first + r->nr + 1;
	}
	r->list = xgrow(r->list, &r->capacity, r->nr + 1, sizeof(*r->list));
	r->list[r->nr++] = run;
}

/* Calls add() for each run around a moment of a thread, from the inside out. */
static void each_around(struct runs *r, uint32_t tid, uint32_t range, uint64_t time_ns,
			void (*add)(struct run_work *work, const void *what), const void *what)
{
	struct gpu_range_node node;

	for (int depth = 0; depth < (int)GPU_MAX_RANGE_DEPTH; depth++) {
		struct run_lane *lane;
		struct run_work *work;

		if (!shared_region_range(r->names->region, range, &node))
			return;
		lane = lane_of(r, tid, range);
		work = lane ? work_at(r, lane, time_ns) : NULL;
		if (work)
			add(work, what);
		range = node.parent;
	}
}

static void add_work(struct run_work *to, const void *what)
{
	const struct gpu_work *work = what;

	to->gpu_ns += work->end_ns - work->start_ns;
	to->launches++;
	if (!to->gpu_start_ns || work->start_ns < to->gpu_start_ns)
		to->gpu_start_ns = work->start_ns;
	if (work->end_ns > to->gpu_end_ns)
		to->gpu_end_ns = work->end_ns;
}

void runs_take_work(struct runs *r, const struct gpu_work *work, uint64_t launch_ns)
{
	if (work->end_ns >= work->start_ns)
		each_around(r, work->head.tid, work->range, launch_ns, add_work, work);
}

static void add_memory(struct run_work *to, const void *what)
{
	const struct gpu_rec_memory *record = what;
	uint64_t bytes = record->op == GPU_MEMORY_ALLOC ? record->bytes : -record->bytes;

	to->net_bytes = (int64_t)((uint64_t)to->net_bytes + bytes);
	if (to->net_bytes > to->peak_bytes)
		to->peak_bytes = to->net_bytes;
}

void runs_take_memory(struct runs *r, const struct gpu_rec_memory *record)
{
	each_around(r, record->work.head.tid, record->work.range, record->work.start_ns, add_memory,
		    record);
}

void runs_fini(struct runs *r)
{
	free(r->list);
	free(r->lanes);
	free(r->started);
	number_map_fini(&r->lane_index);
	number_map_fini(&r->started_index);
}
