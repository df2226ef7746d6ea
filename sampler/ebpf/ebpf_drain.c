/* Turns the kernel side's records, in time order, into stacks and samples for the sink. */
#include "sampler/ebpf/ebpf.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/walk_marker.h"
#include "sampler/ebpf/ebpf_snapshot.h"
#include "sampler/runtimes/python/code_objects.h"

#define MAX_WAITING 65536
#define WAIT_NS (500ull * 1000 * 1000)

/* Kinds in the queue: the ring's own record types, and the side band's. */
#define KIND_SIDEBAND 100

struct queued_sideband {
	struct sideband_record record;
	char path[];
};

/* ---- stacks */

static bool stack_is_whole(const struct stack_event *e, size_t size)
{
	return e->nr_kernel <= MAX_KERNEL_FRAMES && e->nr_user <= MAX_USER_FRAMES &&
	       size >= sizeof(*e) + (e->nr_kernel + (size_t)e->nr_user) * 8;
}

static void on_stack(struct source *s, const struct stack_event *e, size_t size)
{
	const uint64_t *frames = (const uint64_t *)(e + 1);
	struct process *p = ebpf_find_process(s, (pid_t)e->header.tgid);
	struct walked w = {
		.kernel = frames,
		.user = frames + e->nr_kernel,
		.nr_kernel = e->nr_kernel,
		.nr_user = e->nr_user,
		.marker = walk_marker(e->end),
		.in_kernel = e->in_kernel,
		.python_broken = e->python_broken,
	};

	if (!stack_is_whole(e, size))
		return;
	if (e->nr_total > e->nr_user) {
		w.gap = MAX_LEAF_FRAMES;
		w.rotation = (e->nr_total - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;
	}
	if (p)
		runtime_unwind_check(s->jit, p, e->header.time_ns, e->epoch, &w);
	if (!stack_ids_add(s->keys, e->key, sample_sink_stack(&s->out, p, &w)))
		memset(s->stack_slots, 0, STACK_SLOTS * sizeof(*s->stack_slots));
}

/* ---- samples */

static void sink_sample(struct source *s, const struct sample_event *e, struct known_stack known)
{
	const struct profile_sample sample = {
		.time_ns = e->header.time_ns,
		.weight = e->weight_ns,
		.thread = sample_sink_thread(&s->out, e->header.tgid, e->tid, e->comm),
		.stack = known.stack,
		.cpu = e->header.cpu,
		.column = COLUMN_CPU,
		.gil = e->gil < NR_GIL ? e->gil : GIL_UNKNOWN,
	};

	sample_sink_sample(&s->out, &sample, known);
}

static void on_sample(struct source *s, const struct sample_event *e)
{
	struct known_stack known;

	if (stack_ids_find(s->keys, e->key, &known)) {
		sink_sample(s, e, known);
		return;
	}
	/* Another CPU sends the stack and has not finished. */
	if (s->nr_waiting == MAX_WAITING) {
		s->stats.nr_lost++;
		return;
	}
	s->waiting =
		xgrow(s->waiting, &s->waiting_capacity, s->nr_waiting + 1, sizeof(*s->waiting));
	s->waiting[s->nr_waiting++] = *e;
}

static void retry_waiting(struct source *s, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->nr_waiting; i++) {
		struct known_stack known;

		if (stack_ids_find(s->keys, s->waiting[i].key, &known))
			sink_sample(s, &s->waiting[i], known);
		else if (now > s->waiting[i].header.time_ns + WAIT_NS)
			s->stats.nr_lost++;
		else
			s->waiting[kept++] = s->waiting[i];
	}
	s->nr_waiting = kept;
}

static void on_snapshot(struct source *s, const struct snapshot_event *e, size_t size)
{
	uint64_t user[MAX_USER_FRAMES];
	struct walked w = {
		.kernel = (const uint64_t *)e->kernel,
		.nr_kernel = e->nr_kernel,
		.user = user,
		.in_kernel = e->in_kernel,
	};
	struct process *p;
	bool leaf_only;

	if (e->stack_size > size - sizeof(*e) || e->nr_kernel > MAX_KERNEL_FRAMES)
		return;
	ebpf_process(s, (pid_t)e->sample.header.tgid, e->exec_id, &p);
	if (p) {
		ebpf_own(p)->nr_snapshots++;
		ebpf_saw_image(s, p, e->exec_id);
	}
	if (p && e->end == END_NO_MAP)
		ebpf_reread(s, p);
	leaf_only = monotonic_ns() >= s->unwind_until_ns;
	s->stats.nr_snapshots += !leaf_only;
	ebpf_unwind_snapshot(s, p, e, leaf_only, user, MAX_USER_FRAMES, &w);
	if (p)
		runtime_unwind_check(s->jit, p, e->sample.header.time_ns, p->epoch, &w);
	sink_sample(s, &e->sample, sample_sink_stack(&s->out, p, &w));
}

/* ---- the queue */

static void on_queued(void *context, int kind, const void *data, size_t size)
{
	struct source *s = context;

	switch (kind) {
	case EVENT_SAMPLE: on_sample(s, data); break;
	case EVENT_STACK: on_stack(s, data, size); break;
	case EVENT_SNAPSHOT: on_snapshot(s, data, size); break;
	case EVENT_PYTHON:
		if (stack_is_whole(data, size))
			ebpf_keep_python_stack(s, data);
		break;
	case EVENT_FORK: ebpf_on_fork(s, data); break;
	case EVENT_EXEC: ebpf_on_exec(s, data); break;
	case EVENT_EXIT: ebpf_on_exit(s, data); break;
	case KIND_SIDEBAND: {
		const struct queued_sideband *q = data;
		struct sideband_record r = q->record;

		r.path = q->path;
		ebpf_on_sideband(s, &r);
		break;
	}
	}
}

int ebpf_queue_ring_record(void *context, void *data, size_t size)
{
	static const size_t sizes[] = {
		[EVENT_SAMPLE] = sizeof(struct sample_event),
		[EVENT_STACK] = sizeof(struct stack_event),
		[EVENT_SNAPSHOT] = sizeof(struct snapshot_event),
		[EVENT_FORK] = sizeof(struct fork_event),
		[EVENT_EXEC] = sizeof(struct exec_event),
		[EVENT_EXIT] = sizeof(struct exit_event),
		[EVENT_CODE] = sizeof(struct code_event),
		[EVENT_PYTHON] = sizeof(struct stack_event),
	};
	const struct event_header *h = data;
	struct source *s = context;

	if (size < sizeof(*h) || h->type >= sizeof(sizes) / sizeof(sizes[0]) || !sizes[h->type] ||
	    size < sizes[h->type])
		return 0;
	if (h->type == EVENT_CODE) {
		const struct code_event *e = data;

		/* At once: on another CPU an older sample may name it already. */
		if (!python_codes_add(s->python_codes, &e->code, size - sizeof(e->header)))
			memset(s->code_slots, 0, CODE_SLOTS * sizeof(*s->code_slots));
		return 0;
	}
	if (h->type == EVENT_SNAPSHOT) {
		const struct snapshot_event *e = data;

		/* The reservation has room to spare: keep what was filled. */
		if (e->stack_size > size - sizeof(*e))
			return 0;
		size = sizeof(*e) + e->stack_size;
	}
	time_order_push(s->queue, h->time_ns, h->type, data, size);
	return 0;
}

void ebpf_queue_sideband(void *context, const struct sideband_record *r)
{
	size_t length = r->path ? strlen(r->path) + 1 : 1;
	struct source *s = context;
	struct queued_sideband *q;

	/* Most of what a machine maps belongs to processes that nobody asked about. They are told
	 * apart later, in time order: one of them may be a child that we are about to learn of. */
	q = xcalloc(1, sizeof(*q) + length);
	q->record = *r;
	if (r->path)
		memcpy(q->path, r->path, length);
	time_order_push(s->queue, r->time_ns, KIND_SIDEBAND, q, sizeof(*q) + length);
	free(q);
}

size_t ebpf_handle_events(struct source *s, uint64_t before_ns)
{
	size_t left = time_order_take(s->queue, before_ns, on_queued, s);

	retry_waiting(s, before_ns);
	return left;
}
