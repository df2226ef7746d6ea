/*
 * A path is a node in the region's range table; its number is found by parent, domain and name in
 * an open-addressing table. Nodes are never removed. Open start/end ranges are in an array of
 * their own, and their id says where.
 */
#include "gpu/agent/nvtx/range.h"

#include <errno.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/nvtx/capture.h"

#define SLOTS (4 * AGENT_RANGES)
#define MAX_PROBES 64u
#define MAX_STARTED 4096u /* start/end ranges that are open at the same time */

struct started {
	uint64_t id; /* atomic: 0 = free, 1 = being written */
	uint64_t start_ticks;
	struct range_event event;
	uint32_t tid;
	bool kept, captures; /* as in struct open_range */
};

static uint32_t *slots;
static struct started *started;
static uint64_t next_id = 1; /* atomic */
static uint32_t generation;  /* atomic: number of the collection */

int range_init(void)
{
	slots = agent_map(SLOTS * sizeof(*slots));
	started = agent_map(MAX_STARTED * sizeof(*started));
	return slots && started ? 0 : -ENOMEM;
}

static struct gpu_range_node *node_at(uint32_t node)
{
	return (struct gpu_range_node *)agent_area(&agent.region->ranges) + node;
}

static uint32_t new_node(uint32_t parent, const struct range_event *e)
{
	struct gpu_area *area = &agent.region->ranges;
	uint64_t i = __atomic_load_n(&area->used, __ATOMIC_RELAXED);
	struct gpu_range_node *n;

	do
		if (i >= AGENT_RANGES)
			return 0;
	while (!__atomic_compare_exchange_n(&area->used, &i, i + 1, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED));
	n = node_at((uint32_t)i);
	n->parent = parent;
	n->name = e->name;
	n->domain = e->domain;
	n->category = e->category;
	n->color = e->color;
	n->depth = parent ? node_at(parent)->depth + 1 : 1;
	n->min_ns = UINT64_MAX;
	return (uint32_t)i;
}

/* The node of that name under that parent; the parent itself if the table is full. */
static uint32_t find_node(uint32_t parent, const struct range_event *e)
{
	uint64_t h = ((uint64_t)parent << 32 ^ (uint64_t)e->domain << 16 ^ e->name) *
		     0x9e3779b97f4a7c15ull;
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < MAX_PROBES; i++) {
		uint32_t *slot = &slots[((h >> 40) + i) & (SLOTS - 1)];
		uint32_t node = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		const struct gpu_range_node *n;

		if (!node) {
			if (!fresh)
				fresh = new_node(parent, e);
			if (!fresh)
				break;
			if (__atomic_compare_exchange_n(slot, &node, fresh, false, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return fresh;
		}
		n = node_at(node);
		if (n->parent == parent && n->name == e->name && n->domain == e->domain)
			return node;
	}
	agent_count(GPU_COUNT_RANGE_FULL, 1);
	return parent;
}

void range_begin(void)
{
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELAXED);
}

void range_forget(void)
{
	uint64_t nr = __atomic_load_n(&agent.region->ranges.used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 1; i < nr && i < AGENT_RANGES; i++) {
		struct gpu_range_node *n = node_at(i);

		__atomic_store_n(&n->count, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&n->total_ns, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&n->max_ns, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&n->min_ns, UINT64_MAX, __ATOMIC_RELAXED);
	}
}

static void add_to_node(uint32_t node, uint64_t ns)
{
	struct gpu_range_node *n = node_at(node);
	uint64_t seen;

	__atomic_fetch_add(&n->count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&n->total_ns, ns, __ATOMIC_RELAXED);
	seen = __atomic_load_n(&n->max_ns, __ATOMIC_RELAXED);
	while (ns > seen && !__atomic_compare_exchange_n(&n->max_ns, &seen, ns, true,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	seen = __atomic_load_n(&n->min_ns, __ATOMIC_RELAXED);
	while (ns < seen && !__atomic_compare_exchange_n(&n->min_ns, &seen, ns, true,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Drops the ranges that were pushed in an earlier collection. */
static void check_generation(struct thread *t)
{
	uint32_t current = __atomic_load_n(&generation, __ATOMIC_RELAXED);

	if (t->generation == current)
		return;
	/* in this order: range_flush_open() reads them from another thread */
	__atomic_store_n(&t->depth, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->generation, current, __ATOMIC_RELEASE);
}

uint32_t range_current(struct thread *t)
{
	check_generation(t);
	if (!t->depth)
		return 0;
	return t->ranges[(t->depth < GPU_MAX_RANGE_DEPTH ? t->depth : GPU_MAX_RANGE_DEPTH) - 1]
		.node;
}

int range_push(struct thread *t, const struct range_event *e)
{
	uint32_t parent = range_current(t);
	bool captures = capture_kind() && t->depth < GPU_MAX_RANGE_DEPTH && capture_open(e);
	bool kept = capture_is_open();

	if (t->depth < GPU_MAX_RANGE_DEPTH)
		t->ranges[t->depth] = (struct open_range){
			.start_ticks = clock_ticks(),
			.payload = e->payload,
			.node = kept ? find_node(parent, e) : parent,
			.kept = kept,
			.captures = captures,
			.name = e->name,
			.domain = e->domain,
			.category = e->category,
			.color = e->color,
			.payload_type = e->payload_type,
		};
	else
		agent_count(GPU_COUNT_RANGE_DEEP, 1);
	/* after the entry: range_flush_open() reads it from another thread */
	__atomic_store_n(&t->depth, t->depth + 1, __ATOMIC_RELEASE);
	return (int)t->depth - 1;
}

static void emit_open(const struct thread *t, const struct open_range *o, uint64_t end_ns,
		      uint8_t flags, const struct lane *lane)
{
	struct gpu_rec_range r = {
		.head = { GPU_RECORD_RANGE, sizeof(r), t->tid },
		.start_ns = clock_ticks_to_ns(o->start_ticks),
		.end_ns = end_ns,
		.range = o->node,
		.name = o->name,
		.domain = o->domain,
		.category = o->category,
		.color = o->color,
		.kind = GPU_RANGE_PUSH_POP,
		.flags = flags,
		.payload_type = o->payload_type,
		.payload = o->payload,
	};

	if (!o->kept)
		return;
	if (r.end_ns < r.start_ns)
		r.end_ns = r.start_ns;
	if (!flags)
		add_to_node(o->node, r.end_ns - r.start_ns);
	lane_emit(lane, &r.head);
}

int range_pop(struct thread *t, uint32_t domain)
{
	uint64_t now = clock_ticks();
	uint32_t i;

	check_generation(t);
	if (t->depth > GPU_MAX_RANGE_DEPTH) /* a range that was too deep to be kept */
		return (int)--t->depth;
	for (i = t->depth; i && t->ranges[i - 1].domain != domain; i--)
		;
	if (!i) {
		agent_count(GPU_COUNT_RANGE_UNBALANCED, 1);
		return -1;
	}
	emit_open(t, &t->ranges[i - 1], clock_ticks_to_ns(now), 0, &t->lane);
	if (t->ranges[i - 1].captures)
		capture_close();
	/* ranges of other domains that were pushed later stay open */
	for (; i < t->depth; i++)
		t->ranges[i - 1] = t->ranges[i];
	return (int)--t->depth;
}

uint64_t range_start(struct thread *t, const struct range_event *e)
{
	uint64_t number = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < 64; i++) {
		uint32_t at = (uint32_t)(number + i * 61u) % MAX_STARTED;
		struct started *s = &started[at];
		uint64_t free_id = 0, id = number * MAX_STARTED + at;

		if (!__atomic_compare_exchange_n(&s->id, &free_id, 1, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		s->event = *e;
		s->tid = t->tid;
		s->captures = capture_kind() && capture_open(e);
		s->kept = capture_is_open();
		s->start_ticks = clock_ticks();
		__atomic_store_n(&s->id, id, __ATOMIC_RELEASE);
		return id;
	}
	agent_count(GPU_COUNT_RANGE_FULL, 1);
	return 0;
}

static void emit_started(const struct started *s, uint64_t end_ns, uint8_t flags,
			 const struct lane *lane)
{
	const struct range_event *e = &s->event;
	struct gpu_rec_range r = {
		.head = { GPU_RECORD_RANGE, sizeof(r), s->tid },
		.start_ns = clock_ticks_to_ns(s->start_ticks),
		.end_ns = end_ns,
		.name = e->name,
		.domain = e->domain,
		.category = e->category,
		.color = e->color,
		.kind = GPU_RANGE_START_END,
		.flags = flags,
		.payload_type = e->payload_type,
		.payload = e->payload,
	};

	if (r.end_ns < r.start_ns)
		r.end_ns = r.start_ns;
	if (s->kept)
		lane_emit(lane, &r.head);
}

void range_end(uint64_t id)
{
	struct started *s = &started[id % MAX_STARTED];
	struct thread *t = thread_self();
	uint64_t expected = id;

	if (id < MAX_STARTED || !__atomic_compare_exchange_n(&s->id, &expected, 1, false,
							     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		agent_count(GPU_COUNT_RANGE_UNBALANCED, 1);
		return;
	}
	if (t)
		emit_started(s, clock_now_ns(), 0, &t->lane);
	if (s->captures)
		capture_close();
	__atomic_store_n(&s->id, 0, __ATOMIC_RELEASE);
}

void range_mark(struct thread *t, const struct range_event *e)
{
	struct gpu_rec_mark m = {
		.head = { GPU_RECORD_MARK, sizeof(m), t->tid },
		.time_ns = clock_ticks_to_ns(clock_ticks()),
		.range = range_current(t),
		.name = e->name,
		.domain = e->domain,
		.category = e->category,
		.color = e->color,
		.payload_type = e->payload_type,
		.payload = e->payload,
	};

	if (capture_is_open())
		lane_emit(&t->lane, &m.head);
}

void range_flush_open(void)
{
	uint32_t current = __atomic_load_n(&generation, __ATOMIC_RELAXED);
	uint64_t now = clock_now_ns();
	struct lane lane;
	const struct thread *t;

	lane_open(AGENT_LANES - 1, &lane); /* the threads may be writing into their own lanes */
	for (uint32_t i = 0; (t = thread_at(i)); i++) {
		uint32_t depth;

		if (!__atomic_load_n(&t->used, __ATOMIC_ACQUIRE) ||
		    __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) != current)
			continue;
		depth = __atomic_load_n(&t->depth, __ATOMIC_ACQUIRE);
		for (uint32_t j = 0; j < depth && j < GPU_MAX_RANGE_DEPTH; j++)
			emit_open(t, &t->ranges[j], now, GPU_RANGE_OPEN, &lane);
	}
	for (uint32_t i = 0; i < MAX_STARTED; i++) {
		struct started *s = &started[i];
		uint64_t id = __atomic_load_n(&s->id, __ATOMIC_ACQUIRE);

		if (id > 1 && __atomic_compare_exchange_n(&s->id, &id, 1, false, __ATOMIC_ACQ_REL,
							  __ATOMIC_RELAXED)) {
			emit_started(s, now, GPU_RANGE_OPEN, &lane);
			__atomic_store_n(&s->id, 0, __ATOMIC_RELEASE);
		}
	}
}
