/*
 * What is done for a sampled allocation: the stack is walked by the agent's walker, a record goes
 * into the ring, and the block into the table. A block enters the table only if its record is in
 * the ring, so the recorder knows the stack of each block that it finds there.
 */
#include "sampler/agent/alloc/slow_path.h"
#include "sampler/agent/alloc/x86_64/thread.h"
#include "sampler/agent/syscall.h"

#define TIMED_MOST_NS 100000 /* what takes longer was interrupted */
#define TRUSTED_SAMPLES 16   /* as in handler.c: then the kernel is asked again what is readable */

static int take_scratch(struct alloc_private *a)
{
	__u32 busy = __atomic_load_n(&a->busy, __ATOMIC_RELAXED), bit;

	do {
		bit = (__u32)__builtin_ctz(~busy);
		if (bit >= ALLOC_NR_SCRATCH)
			return -1;
	} while (!__atomic_compare_exchange_n(&a->busy, &busy, busy | 1u << bit, 0,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return (int)bit;
}

static void forget_known(struct alloc_private *a, __u32 generation)
{
	for (__u32 i = 0; i < REGION_NR_KNOWN; i++)
		__atomic_store_n(&a->known[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&a->known_generation, generation, __ATOMIC_RELAXED);
}

#define OWN_FRAMES 8
#define OWN_FRAME_BYTES 4096 /* of the stack, at most */
#define MOST_PASSED 4	     /* hooks between the leaf and the root */

static int is_own(__u64 pc)
{
	return pc - (__u64)agent_payload_start < ALLOC_CODE_SIZE;
}

/*
 * Past our own frames: a function of Python's tables that was called from here may end in a jump to
 * realloc(3), whose hook then returns to us. All of our functions that call another keep the frame
 * pointer, and who jumps has put it back. With a walk, each frame is read only if that may read it;
 * else NULL.
 */
static const __u64 *frame_of_caller(const __u64 *frame, struct agent_walk *w)
{
	for (int i = 0; i < OWN_FRAMES; i++) {
		__u64 next;

		if (w && agent_readable(w, (__u64)frame, 16) < 16)
			return (void *)0;
		next = frame[0];
		if (!is_own(frame[1]) || next % 8 || next <= (__u64)frame ||
		    next - (__u64)frame > OWN_FRAME_BYTES)
			break;
		frame = (const __u64 *)next;
	}
	return frame;
}

static void start_at_caller(struct agent_walk *w, const __u64 *frame)
{
	w->regs = (struct walk_regs){
		.pc = frame[1],
		.sp = (__u64)(frame + 2),
		.fp = frame[0],
	};
}

/*
 * A function that was called from here may also call another allocator, so the walk ends at the
 * frame of ours above it. If so, takes that frame away, sets the registers of who called us, and
 * returns 1.
 */
static int pass_own_frames(struct agent_walk *w)
{
	const __u64 *frame = (const __u64 *)w->regs.fp;

	if (!w->nr || !is_own(w->regs.pc) || w->regs.fp % 8 || w->regs.fp < w->regs.sp)
		return 0;
	frame = frame_of_caller(frame, w);
	if (!frame || is_own(frame[1]))
		return 0;
	w->nr--;
	start_at_caller(w, frame);
	return 1;
}

static void walk_along_path(struct alloc_private *a, struct agent_walk *w)
{
	struct alloc_counter *c = alloc_counter_of(a);
	struct agent_path *path = &a->paths[(c - a->counters) % ALLOC_NR_PATHS];

	w->path = __atomic_exchange_n(&path->busy, 1, __ATOMIC_ACQUIRE) ? (void *)0 : path;
	agent_walk_stack(w);
	for (int i = 0; i < MOST_PASSED && pass_own_frames(w); i++)
		agent_walk_stack(w);
	if (w->path)
		__atomic_store_n(&path->busy, 0, __ATOMIC_RELEASE);
	/* Were the tables rewritten under the walk? */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&w->space->generation, __ATOMIC_RELAXED) - w->generation > 1) {
		w->nr = 0;
		w->end = END_STALE;
		w->python = (void *)0;
	}
}

/* Prepares the walk over this thread's Python frames, if there is an interpreter. */
static void prepare_python(struct alloc_private *a, struct agent_walk *w, int scratch, __s32 tid)
{
	struct agent_python *p = &a->pythons[scratch].python;
	const struct py_layout *layout = &w->space->python[w->generation & 1];

	if (!layout->runtime)
		return;
	p->layout = layout;
	p->codes = alloc_shared_of(a)->codes;
	p->nr_codes = &alloc_shared_of(a)->nr_codes;
	p->region = (void *)0;
	p->taken = (void *)0;
	p->budget = &w->budget;
	p->tid = tid;
	w->python = p;
	agent_python_begin(p);
}

/* Stores what is left of the Python frames, for which no native frame was found. */
static void finish_python(struct agent_walk *w)
{
	if (!w->python)
		return;
	w->nr = agent_python_finish(w->python, w->frames, w->nr);
	w->python_broken = agent_python_broken(w->python) != 0;
	if (w->python->runs.spent)
		w->end = END_TOO_LONG;
}

static void walk(struct alloc_private *a, struct agent_walk *w, const __u64 *frame, int scratch,
		 __s32 tid)
{
	struct alloc_counter *c = alloc_counter_of(a);
	__u64 thread = alloc_thread();

	start_at_caller(w, frame);
	w->known = a->known;
	w->space = (const void *)a->space;
	w->arena = (const void *)a->arena;
	w->budget = (struct walk_budget){ .left = BUDGET_UNITS };
	w->end = END_PENDING;
	if (c->nr_samples++ % TRUSTED_SAMPLES && c->thread == thread && w->regs.sp >= c->low &&
	    w->regs.sp < c->high) {
		w->low = c->low;
		w->high = c->high;
	}
	w->generation = __atomic_load_n(&w->space->generation, __ATOMIC_ACQUIRE);
	if (w->generation) {
		if (__atomic_load_n(&a->known_generation, __ATOMIC_RELAXED) != w->generation)
			forget_known(a, w->generation);
		prepare_python(a, w, scratch, tid);
		walk_along_path(a, w);
	}
	if (!w->nr)
		w->frames[w->nr++] = frame[1];
	finish_python(w);
	if ((__u64)frame >= w->low && (__u64)frame < w->high) {
		c->thread = thread;
		c->low = w->low;
		c->high = w->high;
	}
}

static int put(struct alloc_shared *s, const struct alloc_draw *draw, const __u64 *frames)
{
	const __u32 head = 1 + sizeof(*draw) / 8;
	const __u64 *words = (const __u64 *)draw;
	__u64 at;

	if (ring_reserve(&s->ring, s->words, ALLOC_RING_WORDS, head + draw->nr_frames, &at))
		return -1;
	for (__u32 i = 1; i < head; i++)
		ring_put(s->words, ALLOC_RING_WORDS, at + i, words[i - 1]);
	for (__u32 i = 0; i < draw->nr_frames; i++)
		ring_put(s->words, ALLOC_RING_WORDS, at + head + i, frames[i]);
	ring_commit(s->words, ALLOC_RING_WORDS, at, head + draw->nr_frames);
	return 0;
}

static void count_lost(struct alloc_shared *s, const struct alloc_taken *t)
{
	if (t->type == ALLOC_DRAW_OF_TENSOR)
		__atomic_fetch_add(&s->nr_lost_tensors, 1, __ATOMIC_RELAXED);
}

/* The recorder takes fewer samples if they take much of the time. */
static void count_time(struct alloc_shared *s, const struct alloc_draw *draw)
{
	__u64 took = alloc_now_ns() - draw->time_ns;

	if (draw->type == ALLOC_DRAW_OF_TENSOR)
		return;
	took = took < TIMED_MOST_NS ? took : TIMED_MOST_NS;
	__atomic_fetch_add(&s->sample_ns, took, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->nr_timed, 1, __ATOMIC_RELAXED);
}

void alloc_take(struct alloc_private *a, const struct alloc_taken *t)
{
	const __u32 max = MAX_LEAF_FRAMES + MAX_ROOT_FRAMES;
	struct alloc_shared *s = alloc_shared_of(a);
	int scratch = take_scratch(a), err;
	struct agent_walk w;
	struct alloc_draw draw = {
		.number = __atomic_add_fetch(&s->nr_draws, 1, __ATOMIC_RELAXED),
		.address = t->address,
		.size = t->size,
		.interval = t->interval,
		.site = t->site,
		.tid = (__s32)agent_syscall0(__NR_gettid),
		.type = t->type,
		.time_ns = alloc_now_ns(),
	};

	if (scratch < 0) {
		__atomic_fetch_add(&s->nr_no_scratch, 1, __ATOMIC_RELAXED);
		count_lost(s, t);
		return;
	}
	w.frames = a->scratch[scratch].frames;
	w.fresh = a->scratch[scratch].fresh;
	w.python = (void *)0;
	w.python_broken = 0;
	w.nr = 0;
	w.low = w.high = 0;
	walk(a, &w, frame_of_caller(t->frame, (void *)0), scratch, draw.tid);
	draw.python_broken = w.python_broken;
	draw.nr_total = w.nr;
	draw.nr_frames = w.nr < max ? w.nr : max;
	draw.end = w.end;
	err = put(s, &draw, w.frames);
	__atomic_fetch_and(&a->busy, ~(1u << scratch), __ATOMIC_RELEASE);
	if (err)
		count_lost(s, t);
	else if (t->type == ALLOC_DRAW_OF_TENSOR) /* no call of it reports within another */
		alloc_live_add(a, t->address, draw.number, draw.number - 1);
	else
		alloc_live_add(a, t->address, draw.number, alloc_counter_of(a)->since);
	count_time(s, &draw);
}

void alloc_keep(struct alloc_private *a, __u64 address, __u64 size, __u64 interval, __u32 site,
		const __u64 *frame)
{
	const struct alloc_taken taken = { address, size, interval, site, frame, ALLOC_DRAW };

	if (interval && address && a->magic == ALLOC_MAGIC)
		alloc_take(a, &taken);
}

void alloc_freed(struct alloc_private *a, __u64 draw)
{
	const __u32 nr = 1 + sizeof(struct alloc_freed) / 8;
	struct alloc_shared *s = alloc_shared_of(a);
	__u64 at;

	if (!draw)
		return;
	if (ring_reserve(&s->ring, s->words, ALLOC_RING_WORDS, nr, &at)) {
		__atomic_fetch_add(&s->nr_lost_frees, 1, __ATOMIC_RELAXED);
		return;
	}
	ring_put(s->words, ALLOC_RING_WORDS, at + 1, draw);
	ring_put(s->words, ALLOC_RING_WORDS, at + 2, alloc_now_ns());
	ring_commit(s->words, ALLOC_RING_WORDS, at, nr);
}
