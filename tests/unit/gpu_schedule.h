/*
 * Random schedules of GPU work, as a program and CUPTI would produce them: threads make calls
 * inside ranges, streams run the work in order, and records come late, are withheld, or never come.
 * Each schedule is a function of its seed. Times are CLOCK_MONOTONIC ns.
 *
 * What the recorder may rely on is kept in every schedule that is not `loose`: work whose call was
 * not seen has its record within 2 s of its start, and a graph has no pause of 2 s in its records.
 */
#ifndef SPROF_TESTS_GPU_SCHEDULE_H
#define SPROF_TESTS_GPU_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define GIVEN_UP_NS (2 * SECOND) /* how late a record may come whose call was not seen */
#define NEVER UINT64_MAX

enum { MAX_WORKS = 160, MAX_CALLS = 160, MAX_RUNS = 96, MAX_DRAINS = 256, MAX_WINDOWS = 70 };
enum { NR_STREAMS = 3, NR_DEVICES = 3, NR_STACKS = 4, NR_RANGES = 4, NR_PROCESSES = 2 };

struct call {
	uint64_t start_ns, end_ns; /* its record is written at its end */
	uint32_t correlation, tid, stack, range;
	uint8_t class;
	bool failed;
};

struct work {
	uint64_t start_ns, end_ns;
	uint64_t written_ns; /* when its record is written */
	int call;	     /* -1: not seen */
	uint32_t correlation, device, stream, graph;
	uint32_t tid, stack, range, name;
	uint8_t type;		       /* enum gpu_record_type */
	bool untimed, future, dropped; /* no times; an end in the future; the ring was full */
};

struct run_of_range {
	uint64_t start_ns, end_ns;
	uint32_t tid, range;
};

struct process {
	uint64_t active_ns, stopped_ns, end_ns;
	bool ends_at_once; /* without exit handlers */
	bool graphs_are_lost;
	uint64_t rival_from_ns, rival_to_ns;
	uint32_t nr_windows;
	struct gpu_window windows[MAX_WINDOWS];
	struct call calls[MAX_CALLS];
	struct work works[MAX_WORKS];
	struct run_of_range runs[MAX_RUNS];
	int nr_calls, nr_works, nr_runs;
	uint64_t stream_free_ns[NR_DEVICES][NR_STREAMS];
	uint32_t stride; /* between correlation ids */
};

struct schedule {
	uint64_t random;
	bool loose;
	uint64_t unit_ns; /* of durations and gaps */
	uint64_t drains[MAX_DRAINS];
	int nr_drains, nr_processes;
	struct process processes[NR_PROCESSES];
};

static const uint32_t schedule_devices[NR_DEVICES] = { 0, 5, GPU_MAX_DEVICES - 1 };

/* splitmix64 */
static inline uint64_t draw(struct schedule *s, uint64_t below)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return below ? (z ^ z >> 31) % below : 0;
}

static inline bool one_in(struct schedule *s, uint64_t n)
{
	return !draw(s, n);
}

/* Was time swept past the work's start before its record was read, for lack of its call? */
static inline bool comes_too_late(const struct schedule *s, const struct process *p,
				  const struct work *w)
{
	uint64_t last = 0;

	for (int i = 0; i < s->nr_drains && s->drains[i] < p->end_ns; i++) {
		last = s->drains[i];
		if (last >= w->written_ns)
			break;
	}
	return last > w->start_ns + GIVEN_UP_NS;
}

static inline uint64_t record_delay(struct schedule *s)
{
	switch (draw(s, 8)) {
	case 0: return draw(s, 8 * SECOND);
	case 1: return 100 * SECOND; /* the end of the process */
	case 2: return 0;
	default: return draw(s, 300 * MS);
	}
}

/* Was the record lost to a rival that took CUPTI before it was written? */
static inline bool lost_to_rival(const struct process *p, const struct work *w)
{
	return w->written_ns >= p->rival_from_ns && w->start_ns < p->rival_to_ns;
}

/* Adds work that was called at that time; it runs when its stream is free. */
static inline struct work *add_work(struct schedule *s, struct process *p, uint64_t called_ns,
				    uint64_t delay_ns)
{
	static const uint8_t types[] = { GPU_RECORD_KERNEL, GPU_RECORD_KERNEL, GPU_RECORD_MEMCPY,
					 GPU_RECORD_MEMSET };
	int device = (int)draw(s, NR_DEVICES), stream = (int)draw(s, NR_STREAMS);
	uint64_t *free_ns = &p->stream_free_ns[device][stream];
	struct work *w = &p->works[p->nr_works];
	uint64_t start = called_ns + draw(s, s->unit_ns / 4);

	if (one_in(s, 8)) /* the clocks differ by up to 1 ms */
		start = called_ns - draw(s, MS + 1);
	start = start > *free_ns ? start : *free_ns;
	*w = (struct work){
		.start_ns = start,
		.end_ns = start + (one_in(s, 10) ? 0 : draw(s, s->unit_ns)),
		.call = -1,
		.device = schedule_devices[device],
		.stream = (uint32_t)stream,
		.name = (uint32_t)draw(s, 2),
		.type = types[draw(s, 4)],
	};
	if (start >= p->end_ns) /* still queued at the end: it has no record */
		return NULL;
	if (w->end_ns > p->end_ns) /* still running: cut off */
		w->end_ns = p->end_ns;
	*free_ns = w->end_ns;
	w->written_ns = w->end_ns + delay_ns;
	if (w->written_ns > p->end_ns)
		w->written_ns = p->end_ns;
	if (lost_to_rival(p, w))
		return NULL;
	p->nr_works++;
	return w;
}

/* Makes work whose call was not seen; it comes in time, or not at all. */
static inline void without_call(struct schedule *s, struct process *p, struct work *w)
{
	w->call = -1;
	w->correlation = one_in(s, 2) ? 0 : 0x80000000u + (uint32_t)draw(s, 1u << 20);
	w->untimed = false;
	if (s->loose || !comes_too_late(s, p, w))
		return;
	w->written_ns = w->end_ns;
	if (comes_too_late(s, p, w))
		p->nr_works--;
}

static inline void of_call(const struct process *p, struct work *w, int call)
{
	w->call = call;
	w->correlation = p->calls[call].correlation;
	w->tid = p->calls[call].tid;
	w->stack = p->calls[call].stack;
	w->range = p->calls[call].range;
	if (w->written_ns < p->calls[call].end_ns)
		w->written_ns = p->calls[call].end_ns;
	if (w->written_ns > p->end_ns)
		w->written_ns = p->end_ns;
}

static inline void launch_graph(struct schedule *s, struct process *p, int call)
{
	uint64_t delay = one_in(s, 4) ? draw(s, 6 * SECOND) : draw(s, 300 * MS), last = 0;
	int first = p->nr_works, nr = 1 + (int)draw(s, 6);
	bool is_whole = one_in(s, 4);

	for (int i = 0; i < nr && p->nr_works < MAX_WORKS - 1; i++) {
		struct work *w = add_work(s, p, p->calls[call].start_ns, 0);

		if (!w)
			continue;
		of_call(p, w, call);
		w->graph = 1 + (uint32_t)draw(s, 3);
		if (is_whole)
			w->type = GPU_RECORD_GRAPH;
		if (p->graphs_are_lost)
			without_call(s, p, w);
		last = w->end_ns > last ? w->end_ns : last;
		if (is_whole)
			break;
	}
	for (int i = first; i < p->nr_works && !p->graphs_are_lost; i++) {
		struct work *w = &p->works[i];

		w->written_ns = last + delay + draw(s, 300 * MS);
		of_call(p, w, call);
	}
}

/*
 * A call that waits for its work: the record may be written before the call's, and be read before
 * it too if a drain comes between them.
 */
static inline void write_before_call(const struct schedule *s, struct process *p, struct work *w)
{
	struct call *call = &p->calls[w->call];
	int i = 0;

	while (i < s->nr_drains && s->drains[i] < w->end_ns)
		i++;
	if (i == s->nr_drains || s->drains[i] + 1000 > p->end_ns || s->drains[i] < call->end_ns ||
	    s->drains[i] > call->start_ns + SECOND)
		return;
	w->written_ns = s->drains[i];
	call->end_ns = s->drains[i] + 1000;
}

static inline void launch_one(struct schedule *s, struct process *p, int call)
{
	struct work *w = add_work(s, p, p->calls[call].start_ns, record_delay(s));

	if (!w)
		return;
	w->type = p->calls[call].class == GPU_API_LAUNCH   ? GPU_RECORD_KERNEL
		  : p->calls[call].class == GPU_API_MEMCPY ? GPU_RECORD_MEMCPY
							   : GPU_RECORD_MEMSET;
	of_call(p, w, call);
	w->untimed = one_in(s, 20);
	w->future = !w->untimed && one_in(s, 40);
	w->dropped = !w->untimed && !w->future && one_in(s, 30);
	if (one_in(s, 4))
		write_before_call(s, p, w);
}

static inline bool is_captured(const struct process *p, uint64_t time_ns)
{
	if (time_ns >= p->rival_from_ns && time_ns < p->rival_to_ns)
		return false;
	for (uint32_t i = 0; i < p->nr_windows; i++)
		if (time_ns >= p->windows[i].start_ns &&
		    (!p->windows[i].end_ns || time_ns < p->windows[i].end_ns))
			return true;
	return !p->nr_windows;
}

/* Returns when the thread goes on. */
static inline uint64_t make_call(struct schedule *s, struct process *p, uint32_t tid,
				 uint32_t range, uint64_t now)
{
	static const uint8_t classes[] = { GPU_API_LAUNCH, GPU_API_LAUNCH,  GPU_API_LAUNCH,
					   GPU_API_MEMCPY, GPU_API_MEMSET,  GPU_API_GRAPH_LAUNCH,
					   GPU_API_SYNC,   GPU_API_CAPTURED };
	int index = p->nr_calls;
	struct call *c = &p->calls[p->nr_calls++];

	*c = (struct call){
		.start_ns = now,
		.end_ns = now + draw(s, one_in(s, 20) ? SECOND : s->unit_ns / 8 + 1),
		.correlation = (uint32_t)(index + 1) * p->stride,
		.tid = tid,
		.stack = (uint32_t)draw(s, NR_STACKS),
		.range = range,
		.class = classes[draw(s, 8)],
		.failed = one_in(s, 30),
	};
	if (c->class == GPU_API_LAUNCH && one_in(s, 10)) { /* the call was not seen */
		struct work *w = add_work(s, p, now, draw(s, 300 * MS));

		p->nr_calls--;
		if (w)
			without_call(s, p, w);
		return c->end_ns;
	}
	if (c->failed || one_in(s, 30)) /* the record never comes */
		return c->end_ns;
	if (c->class == GPU_API_GRAPH_LAUNCH)
		launch_graph(s, p, index);
	else if (c->class != GPU_API_SYNC && c->class != GPU_API_CAPTURED)
		launch_one(s, p, index);
	return c->end_ns;
}

/* A thread that makes calls inside ranges 1 > 2 > 3. */
static inline void run_thread(struct schedule *s, struct process *p, uint32_t tid, uint64_t now)
{
	uint64_t pushed_ns[NR_RANGES];
	uint32_t depth = 0;

	for (int nr = (int)draw(s, 40); nr-- && now < p->end_ns; now += 1 + draw(s, s->unit_ns)) {
		int what = (int)draw(s, 8);

		if (p->nr_calls >= MAX_CALLS || p->nr_works >= MAX_WORKS - 8 ||
		    p->nr_runs >= MAX_RUNS)
			return;
		if (!what && depth + 1 < NR_RANGES) {
			pushed_ns[++depth] = now;
		} else if (what == 1 && depth) {
			p->runs[p->nr_runs++] = (struct run_of_range){
				.start_ns = pushed_ns[depth],
				.end_ns = now,
				.tid = tid,
				.range = depth,
			};
			depth--;
		} else if (is_captured(p, now)) {
			now = make_call(s, p, tid, depth, now);
		}
	}
}

static inline void make_windows(struct schedule *s, struct process *p)
{
	uint64_t now = p->active_ns;

	p->nr_windows = 1 + (uint32_t)draw(s, one_in(s, 4) ? MAX_WINDOWS : 4);
	for (uint32_t i = 0; i < p->nr_windows; i++) {
		p->windows[i].start_ns = now += draw(s, 4 * s->unit_ns);
		p->windows[i].end_ns = now += 1 + draw(s, 16 * s->unit_ns);
	}
	if (one_in(s, 3))
		p->windows[p->nr_windows - 1].end_ns = 0;
}

static inline void make_process(struct schedule *s, struct process *p, uint64_t begin_ns)
{
	static const uint32_t strides[] = { 1, 1u << 17, 1u << 16, 3 };

	p->active_ns = begin_ns + (one_in(s, 3) ? draw(s, 3 * SECOND) : 0);
	p->end_ns = p->active_ns + s->unit_ns + draw(s, 60 * s->unit_ns);
	if (p->end_ns > p->active_ns + 20 * SECOND)
		p->end_ns = p->active_ns + 20 * SECOND;
	p->stride = strides[draw(s, 4)];
	p->graphs_are_lost = one_in(s, 4);
	p->ends_at_once = one_in(s, 3);
	p->rival_from_ns = p->rival_to_ns = NEVER;
	if (one_in(s, 5)) {
		p->rival_from_ns = p->active_ns + draw(s, 30 * s->unit_ns);
		p->rival_to_ns = p->rival_from_ns + draw(s, 30 * s->unit_ns);
	}
	if (one_in(s, 4))
		make_windows(s, p);
	if (!p->ends_at_once && one_in(s, 2))
		p->stopped_ns = p->end_ns - draw(s, (p->end_ns - p->active_ns) / 4 + 1);
}

static inline void make_schedule(struct schedule *s, uint64_t seed)
{
	static const uint64_t units[] = { 1000, 100000, 20 * MS, 200 * MS, 700 * MS };
	uint64_t begin_ns = 10 * SECOND, now, pause;

	memset(s, 0, sizeof(*s));
	s->random = seed;
	s->loose = one_in(s, 5);
	s->unit_ns = units[draw(s, 5)];
	s->nr_processes = 1 + one_in(s, 3);
	pause = one_in(s, 2) ? 100 * MS : 1400 * MS;
	now = begin_ns - draw(s, SECOND);
	for (s->nr_drains = 0; s->nr_drains < MAX_DRAINS; s->nr_drains++)
		s->drains[s->nr_drains] = now += 20 * MS + draw(s, pause);
	for (int i = 0; i < s->nr_processes; i++) {
		struct process *p = &s->processes[i];

		make_process(s, p, begin_ns);
		run_thread(s, p, 77, p->active_ns);
		if (one_in(s, 2))
			run_thread(s, p, 78, p->active_ns + draw(s, s->unit_ns));
	}
}

#endif
