/*
 * Writes records into the rings of the region: each thread uses the ring of its slot. A record is
 * reserved, written word by word and committed; the recorder reads only what was committed.
 * Snapshots and code objects leave a part of the ring free for samples.
 */
#include "sampler/agent/agent.h"

#define SNAPSHOT_MAX_WORDS                                                                         \
	((sizeof(struct agent_sample) + sizeof(struct agent_snapshot) + REGION_SNAPSHOT_MAX) / 8 + \
	 REGION_PYTHON_WORDS)

static int reserve(struct agent_region *r, __u32 slot, __u32 nr_words, struct agent_place *p)
{
	__u32 ring = slot % REGION_NR_RINGS;

	p->words = r->words[ring];
	p->nr = nr_words + 1;
	if (ring_reserve(&r->rings[ring], p->words, REGION_RING_WORDS, p->nr, &p->start))
		return -1;
	p->at = p->start + 1;
	return 0;
}

#define PAGE_WORDS 512u
#define LINE_WORDS 8u
#define EXPECTED_LINES 6u /* of a sample of some 40 frames */

void agent_expect_sample(const struct agent_region *r, __u32 slot)
{
	const __u64 *words = r->words[slot % REGION_NR_RINGS];
	__u64 head = __atomic_load_n(&r->rings[slot % REGION_NR_RINGS].head, __ATOMIC_RELAXED);

	/*
	 * Touches the next page before it is written. Where the page table has no entry for it yet,
	 * the kernel also makes the entries of its neighbours, as far as the recorder has filled
	 * them (timer_region.c). It does so only for a read.
	 */
	__atomic_load_n(
		(const volatile __u64 *)&words[(head + PAGE_WORDS) & (REGION_RING_WORDS - 1)],
		__ATOMIC_RELAXED);
	for (__u32 i = 0; i < EXPECTED_LINES; i++)
		__builtin_prefetch(&words[(head + i * LINE_WORDS) & (REGION_RING_WORDS - 1)], 1);
}

void agent_put_words(struct agent_place *p, const __u64 *from, __u32 nr)
{
	for (__u32 i = 0; i < nr; i++)
		ring_put(p->words, REGION_RING_WORDS, p->at++, from[i]);
}

void agent_commit(const struct agent_place *p)
{
	ring_commit(p->words, REGION_RING_WORDS, p->start, p->nr);
}

static struct agent_sample head_of(const struct agent_taken *t, const struct agent_walk *w)
{
	return (struct agent_sample){
		.end = (__u8)w->end,
		.in_kernel = t->in_kernel,
		.tid = t->tid,
		.time_ns = t->time_ns,
		.weight_ns = t->weight_ns,
		.maps_epoch = t->maps_epoch,
		.cpu = t->cpu,
		.python_broken = w->python_broken,
		.gil = w->python ? (__u8)w->python->runs.gil : PY_GIL_UNKNOWN,
		.call = t->call,
		.doing = t->doing,
		.was_aborted = t->was_aborted,
		.args = { t->args[0], t->args[1] },
		.remaining_ns = t->remaining_ns,
	};
}

void agent_put_sample(struct agent_region *r, const struct agent_taken *t,
		      const struct agent_walk *w)
{
	const __u32 max = MAX_LEAF_FRAMES + MAX_ROOT_FRAMES;
	struct agent_sample head = head_of(t, w);
	struct agent_place p;

	head.type = AGENT_SAMPLE;
	head.nr_total = w->nr;
	head.nr_frames = w->nr < max ? w->nr : max;
	if (reserve(r, t->slot, sizeof(head) / 8 + head.nr_frames, &p))
		return;
	agent_put_words(&p, (const __u64 *)&head, sizeof(head) / 8);
	agent_put_words(&p, w->frames, head.nr_frames);
	agent_commit(&p);
}

void agent_put_rest(struct agent_region *r, __u32 slot, __s32 tid, __u64 time_ns, __u64 weight_ns)
{
	const struct agent_sample rest = {
		.type = AGENT_REST,
		.tid = tid,
		.time_ns = time_ns,
		.weight_ns = weight_ns,
	};
	struct agent_place p;

	if (reserve(r, slot, sizeof(rest) / 8, &p))
		return;
	agent_put_words(&p, (const __u64 *)&rest, sizeof(rest) / 8);
	agent_commit(&p);
}

/*
 * How full a ring may be for a record to be added: snapshots leave three eighths free. Code
 * objects, without which later samples are worth less, leave one sixteenth.
 */
#define SNAPSHOT_SHARE (REGION_RING_WORDS / 8 * 5)
#define CODE_SHARE (REGION_RING_WORDS / 16 * 15)

static int has_room(const struct agent_region *r, __u32 slot, __u32 nr_words, __u32 share)
{
	const struct ring *ring = &r->rings[slot % REGION_NR_RINGS];
	__u64 used = __atomic_load_n(&ring->head, __ATOMIC_RELAXED) -
		     __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);

	return used + nr_words < share;
}

int agent_begin_code(const struct agent_python *python, __u32 nr_words, struct agent_place *p)
{
	const struct agent_taken *t = python->taken;
	struct agent_region *r = python->region;
	const struct agent_sample head = {
		.type = AGENT_CODE,
		.tid = t->tid,
		.time_ns = t->time_ns,
	};
	__u32 nr = sizeof(head) / 8 + nr_words;

	if (!has_room(r, t->slot, nr, CODE_SHARE) || reserve(r, t->slot, nr, p))
		return -1;
	agent_put_words(p, (const __u64 *)&head, sizeof(head) / 8);
	return 0;
}

static int take_credit(struct agent_region *r)
{
	__u32 credit = __atomic_load_n(&r->snapshot_credit, __ATOMIC_RELAXED);

	do {
		if (!credit)
			return -1;
	} while (!__atomic_compare_exchange_n(&r->snapshot_credit, &credit, credit - 1, 1,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return 0;
}

int agent_may_snapshot(struct agent_region *r, __u32 slot)
{
	return !take_credit(r) && has_room(r, slot, SNAPSHOT_MAX_WORDS, SNAPSHOT_SHARE);
}

int agent_put_snapshot(struct agent_region *r, const struct agent_taken *t, struct agent_walk *w,
		       const struct walk_regs *leaf)
{
	struct agent_snapshot snapshot = { .pc = leaf->pc, .stack_start = leaf->sp & ~7ull };
	struct agent_sample head;
	struct agent_place p;
	__u32 nr;

	head = head_of(t, w);
	head.type = AGENT_SNAPSHOT;
	head.nr_frames = w->python ? w->python->nr_words : 0;
	for (__u32 i = 0; i < WALK_NR_REGS; i++)
		snapshot.gpr[i] = leaf->gpr[i];
	snapshot.stack_size = agent_readable(w, snapshot.stack_start, REGION_SNAPSHOT_MAX) & ~7ull;
	nr = (__u32)((sizeof(head) + sizeof(snapshot) + snapshot.stack_size) / 8) + head.nr_frames;
	if (reserve(r, t->slot, nr, &p))
		return -1;
	agent_put_words(&p, (const __u64 *)&head, sizeof(head) / 8);
	agent_put_words(&p, (const __u64 *)&snapshot, sizeof(snapshot) / 8);
	if (head.nr_frames)
		agent_put_words(&p, w->python->words, head.nr_frames);
	agent_put_words(&p, (const __u64 *)snapshot.stack_start, (__u32)(snapshot.stack_size / 8));
	agent_commit(&p);
	return 0;
}
