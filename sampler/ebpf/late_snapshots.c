/* Records wait with the epoch of their process, by which a change of its mappings is seen. */
#include "sampler/ebpf/late_snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/bpf/events.h"
#include "sampler/sink/time_order.h"

struct late_snapshots {
	struct time_order *queue;
	size_t max_bytes;
	uint64_t until_ns;
	/* The last EVENT_PYTHON that was handled at once: so is the snapshot that it goes with. */
	uint64_t python_ns;
	uint32_t python_tgid;
	/* while records are taken */
	late_snapshots_fn *fn;
	void *context;
};

struct late_record {
	uint64_t epoch;
	struct event_header event; /* of the record, which begins with it */
};

struct late_snapshots *late_snapshots_new(size_t max_bytes)
{
	struct late_snapshots *l = xcalloc(1, sizeof(*l));

	l->queue = time_order_new();
	l->max_bytes = max_bytes;
	return l;
}

void late_snapshots_free(struct late_snapshots *l)
{
	if (!l)
		return;
	time_order_free(l->queue);
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
	return time_order_bytes(l->queue);
}

bool late_snapshots_keep(struct late_snapshots *l, const struct event_header *e, size_t size,
			 uint32_t epoch)
{
	const size_t head = offsetof(struct late_record, event);
	struct late_record *kept;

	if (e->type != EVENT_PYTHON && e->time_ns == l->python_ns && e->tgid == l->python_tgid)
		return false;
	if (!late_snapshots_spent(l) || time_order_bytes(l->queue) + head + size > l->max_bytes) {
		if (e->type == EVENT_PYTHON) {
			l->python_ns = e->time_ns;
			l->python_tgid = e->tgid;
		}
		return false;
	}
	kept = time_order_add(l->queue, e->time_ns, e->type, head + size);
	kept->epoch = epoch;
	memcpy(&kept->event, e, size);
	return true;
}

static void hand_over(void *context, int kind, const void *data, size_t size)
{
	const struct late_snapshots *l = context;
	const struct late_record *kept = data;

	(void)kind;
	(void)size;
	l->fn(l->context, &kept->event, (uint32_t)kept->epoch,
	      monotonic_ns() > kept->event.time_ns + LATE_SNAPSHOTS_NS);
}

void late_snapshots_take(struct late_snapshots *l, bool all, late_snapshots_fn *fn, void *context)
{
	l->fn = fn;
	l->context = context;
	while (all || !late_snapshots_spent(l))
		if (!time_order_take_one(l->queue, hand_over, l))
			break;
}
