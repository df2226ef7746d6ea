/*
 * Records wait with the epoch of their process, by which a change of its mappings is seen. What a
 * record awaits is the module whose table is being built, 0 for time.
 */
#include "sampler/ebpf/late_snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/bpf/events.h"
#include "sampler/target/process.h"

/* The Python frames of the snapshot follow, if it has any, and then the snapshot. */
struct late_record {
	uint64_t epoch;
	uint64_t python_size; /* bytes, a multiple of 8 */
};

struct late_snapshots {
	struct held_records *held;
	struct late_snapshots_ops ops;
	void *context;
	uint64_t until_ns;
	size_t nr_without_time, nr_awaiting;
	bool ends; /* what is handed over is handed over for the last time */
	uint32_t hurried;
	/* The last Python frames, in `python_size` bytes; 0: there are none. */
	struct stack_event *python;
	size_t python_size, python_capacity;
	struct late_record *room; /* in which a record is put together */
	size_t room_capacity;
};

struct late_snapshots *late_snapshots_new(size_t max_bytes, const struct late_snapshots_ops *ops,
					  void *context)
{
	struct late_snapshots *l = xcalloc(1, sizeof(*l));

	l->held = held_records_new(max_bytes);
	l->ops = *ops;
	l->context = context;
	return l;
}

void late_snapshots_free(struct late_snapshots *l)
{
	if (!l)
		return;
	held_records_free(l->held);
	free(l->python);
	free(l->room);
	free(l);
}

void late_snapshots_begin(struct late_snapshots *l, uint64_t until_ns)
{
	l->until_ns = until_ns;
}

bool late_snapshots_spent(const struct late_snapshots *l)
{
	return monotonic_ns() >= l->until_ns;
}

bool late_snapshots_wait(const struct late_snapshots *l)
{
	return l->nr_without_time;
}

bool late_snapshots_lack_tables(const struct late_snapshots *l)
{
	return l->nr_awaiting;
}

void late_snapshots_python(struct late_snapshots *l, const struct stack_event *e)
{
	size_t nr = (size_t)e->nr_kernel + e->nr_user + e->nr_joined;

	l->python_size = sizeof(*e) + nr * sizeof(uint64_t);
	l->python = xgrow(l->python, &l->python_capacity, l->python_size, 1);
	memcpy(l->python, e, l->python_size);
}

/* Of the Python frames that go with the snapshot, in bytes; 0: it has none. */
static size_t python_size(const struct late_snapshots *l, const struct snapshot_event *e)
{
	const struct event_header *h = &e->sample.header;

	if (!l->python_size || l->python->header.time_ns != h->time_ns ||
	    l->python->header.tgid != h->tgid)
		return 0;
	return l->python_size;
}

static size_t record_size(const struct late_snapshots *l, const struct snapshot_event *e)
{
	return sizeof(struct late_record) + python_size(l, e) + sizeof(*e) + e->stack_size;
}

static bool has_room(const struct late_snapshots *l, const struct snapshot_event *e,
		     const struct process *p)
{
	return held_records_has_room(l->held, p->user, record_size(l, e));
}

static void keep(struct late_snapshots *l, const struct snapshot_event *e, const struct process *p,
		 uint64_t awaited)
{
	struct held_record r = {
		.time_ns = e->sample.header.time_ns,
		.awaited = awaited,
		.user = p->user,
		.size = record_size(l, e),
	};
	uint8_t *at;

	r.data = l->room = xgrow(l->room, &l->room_capacity, r.size, 1);
	*l->room = (struct late_record){ p->epoch, python_size(l, e) };
	at = (uint8_t *)(l->room + 1);
	if (l->room->python_size)
		memcpy(at, l->python, l->room->python_size);
	memcpy(at + l->room->python_size, e, sizeof(*e) + e->stack_size);
	held_records_keep(l->held, &r);
	l->nr_without_time += !awaited;
	l->nr_awaiting += !!awaited;
}

bool late_snapshots_keep(struct late_snapshots *l, const struct snapshot_event *e,
			 const struct process *p)
{
	if (!late_snapshots_spent(l) || !has_room(l, e, p))
		return false;
	keep(l, e, p, 0);
	return true;
}

bool late_snapshots_may_await(const struct late_snapshots *l, const struct snapshot_event *e,
			      const struct process *p)
{
	return !l->ends && has_room(l, e, p) && !held_records_is_old(e->sample.header.time_ns);
}

void late_snapshots_await(struct late_snapshots *l, const struct snapshot_event *e,
			  const struct process *p, uint64_t module)
{
	keep(l, e, p, module);
}

static const struct snapshot_event *snapshot_of(const struct held_record *r)
{
	const struct late_record *kept = r->data;

	return (const struct snapshot_event *)((const uint8_t *)(kept + 1) + kept->python_size);
}

static bool is_ready(void *context, const struct held_record *r)
{
	const struct late_snapshots *l = context;

	if (l->ends)
		return true;
	if (late_snapshots_spent(l))
		return !r->awaited && held_records_is_old(r->time_ns); /* its leaf takes no time */
	return !r->awaited || held_records_is_old(r->time_ns) ||
	       !l->ops.table_is_coming(l->context, r->awaited);
}

static bool is_hurried(void *context, const struct held_record *r)
{
	const struct late_snapshots *l = context;

	return r->awaited && snapshot_of(r)->sample.header.tgid == l->hurried;
}

static void hand_over(void *context, const struct held_record *r)
{
	struct late_snapshots *l = context;
	const struct late_record *kept = r->data;

	l->nr_without_time -= !r->awaited;
	l->nr_awaiting -= !!r->awaited;
	if (kept->python_size)
		l->ops.python(l->context, (const struct stack_event *)(kept + 1));
	l->ops.snapshot(l->context, snapshot_of(r), (uint32_t)kept->epoch,
			!r->awaited && held_records_is_old(r->time_ns));
}

/* What is handed over does not wait for a table any more. */
static void take_last(struct late_snapshots *l, const struct held_records_ops *ops)
{
	l->ends = true;
	held_records_take(l->held, ops, l);
	l->ends = false;
}

void late_snapshots_take(struct late_snapshots *l, bool all)
{
	static const struct held_records_ops ops = { is_ready, hand_over };

	if (all)
		take_last(l, &ops);
	else
		held_records_take(l->held, &ops, l);
}

void late_snapshots_hurry(struct late_snapshots *l, uint32_t tgid)
{
	static const struct held_records_ops ops = { is_hurried, hand_over };

	if (!l->nr_awaiting)
		return;
	l->hurried = tgid;
	take_last(l, &ops);
}
