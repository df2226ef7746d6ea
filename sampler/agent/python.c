/*
 * The Python frames of the thread that a signal interrupted, read by core/portable/pyruns.h.
 *
 * Every read must be safe: a frame that is just being built or freed may hold any address. So a
 * page is probed before it is read, by a system call that copies from it and does nothing else; the
 * answer holds for this walk only, because memory comes and goes between two walks. That leaves
 * pages that another thread unmaps in the instant between. The frames of a thread and their code
 * are kept alive by the calls that run them, so only the innermost frame can be wrong, and only in
 * versions (3.11, 3.12) where it may be a frame that was never filled. Then this thread holds the
 * GIL, so no other one frees what the stale words of that frame point to.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#include "core/portable/pyruns.h"

#define PAGE_SHIFT 12
#define MAX_RUNS 64 /* at the root, for which no native frame was found */

static struct agent_python *home_of(const struct py_walk *w)
{
	return (struct agent_python *)(unsigned long)w; /* runs.walk is the first thing in it */
}

static int is_readable(struct agent_python *p, __u64 page)
{
	__u64 *known = &p->pages[page & (REGION_PYTHON_PAGES - 1)];

	if (*known == page)
		return page != 0;
	budget_charge(p->budget, COST_SYSCALL);
	if (!agent_is_readable(page << PAGE_SHIFT))
		return 0;
	*known = page;
	return page != 0;
}

static int are_readable(struct agent_python *p, __u64 address, __u64 size)
{
	if (address >= WALK_USER_END || size > WALK_USER_END - address)
		return 0;
	for (__u64 page = address >> PAGE_SHIFT; page <= (address + size - 1) >> PAGE_SHIFT; page++)
		if (!is_readable(p, page))
			return 0;
	return 1;
}

static __always_inline int py_read(const struct py_walk *w, void *to, __u32 size, __u64 address)
{
	struct agent_python *p = home_of(w);
	__u32 i = 0;

	if (!size)
		return 0;
	if (!are_readable(p, address, size))
		return -1;
	for (; i + 8 <= size; i += 8)
		__builtin_memcpy((char *)to + i, (const void *)(address + i), 8);
	for (; i < size; i++)
		((char *)to)[i] = ((const char *)address)[i];
	return 0;
}

static __always_inline int py_is_spent(struct py_runs *r, void *home)
{
	struct agent_python *p = home;

	(void)r;
	budget_charge(p->budget, COST_PYTHON_FRAME);
	return p->budget->left < 0;
}

/* How many bytes of the line table go with the record, behind what else is in it. */
static __u32 linetable_size(struct agent_python *p)
{
	const __u32 max = (RING_MAX_RECORD - 1) * 8 - (__u32)sizeof(struct agent_sample) -
			  (__u32)sizeof(struct code_record);
	__u32 size = p->code.linetable_size;

	if (size > CODE_MAX_LINETABLE)
		size = CODE_MAX_LINETABLE;
	if (size > max)
		size = max;
	return size && are_readable(p, p->code.address, size) ? size : 0;
}

/* Sends p->code and its line table. 0, or -1 where there is no room. */
static int put_code(const struct agent_python *p)
{
	__u32 nr_table = (p->code.linetable_copied + 7) / 8;
	__u64 at = p->code.address;
	struct agent_place place;

	if (agent_begin_code(p, (__u32)sizeof(p->code) / 8 + nr_table, &place))
		return -1;
	agent_put_words(&place, (const __u64 *)&p->code, sizeof(p->code) / 8);
	for (__u32 i = 0; i < nr_table; i++, at += 8) {
		/* the last word may end at memory that cannot be read */
		__u32 left = p->code.linetable_copied - i * 8;
		__u64 word = 0;

		py_read(&p->runs.walk, &word, left < 8 ? left : 8, at);
		agent_put_words(&place, &word, 1);
	}
	agent_commit(&place);
	return 0;
}

/* Looking a code object up in the region costs little, so none is remembered here. */
static __always_inline __u64 py_known_code(const struct py_layout *l, struct py_runs *r, void *home)
{
	(void)l;
	(void)r;
	(void)home;
	return 0;
}

static __always_inline __u64 py_code_id(const struct py_layout *l, struct py_runs *r, void *home)
{
	struct agent_python *p = home;
	__u64 key = py_code_print(l, r, 0);
	struct code_slot *slot = &p->codes[key & (CODE_SLOTS - 1)];
	__u64 id = py_slot_id(slot, key);

	if (id)
		return id;
	p->code.id = __atomic_add_fetch(p->nr_codes, 1, __ATOMIC_RELAXED) & CODE_ID_MASK;
	py_fill_code(l, &r->walk, &p->code);
	p->code.linetable_copied = linetable_size(p);
	if (put_code(p))
		return 0;
	py_slot_fill(slot, key, p->code.id);
	budget_charge(p->budget, (p->code.linetable_copied >> 10) * COST_KIB);
	return p->code.id;
}

static __always_inline void py_keep_frame(void *home, __u64 frame)
{
	struct agent_python *p = home;

	if (p->frames == p->words && p->nr >= REGION_PYTHON_WORDS) {
		p->runs.walk.broken = 1;
		return;
	}
	if (p->frames == p->words)
		p->words[p->nr++] = frame;
	else
		p->frames[agent_frame_slot(p->nr++)] = frame;
}

/* Not inlined: it is long, and several loops use it. */
static __attribute__((noinline)) int take_frame(struct agent_python *p)
{
	return py_take_frame(p->layout, &p->runs, p);
}

static __always_inline void py_take_frames(const struct py_layout *l, struct py_runs *r, void *home)
{
	(void)l;
	for (__u32 i = 0; i < PY_MAX_RUN; i++)
		if (take_frame(home))
			return;
	r->walk.broken = 1;
	r->walk.frame = 0;
}

static __attribute__((noinline)) void next_run(struct agent_python *p)
{
	py_next_run(p->layout, &p->runs, p);
}

void agent_python_begin(struct agent_python *p)
{
	__u64 thread_pointer = agent_thread_pointer();
	int has_frames;

	for (__u32 i = 0; i < REGION_PYTHON_PAGES; i++)
		p->pages[i] = 0;
	py_clear_runs(&p->runs);
	p->runs.lost = 0;
	if (!thread_pointer)
		return;
	has_frames = py_begin_runs(p->layout, &p->runs, thread_pointer);
	p->runs.gil = py_gil(p->layout, &p->runs.walk);
	if (has_frames)
		next_run(p);
}

__u32 agent_python_run(struct agent_python *p, __u64 *frames, __u32 nr)
{
	p->frames = frames;
	p->nr = nr;
	for (__u32 i = 0; i < p->runs.nr && i < PY_RUN_WORDS; i++)
		py_keep_frame(p, p->runs.words[i]);
	py_keep_rest(p->layout, &p->runs, p);
	next_run(p);
	return p->nr;
}

__u32 agent_python_finish(struct agent_python *p, __u64 *frames, __u32 nr)
{
	for (__u32 i = 0; i < MAX_RUNS && p->runs.nr; i++)
		nr = agent_python_run(p, frames, nr);
	return nr;
}

void agent_python_flatten(struct agent_python *p)
{
	p->nr_words = 0;
	agent_python_begin(p);
	while (p->runs.nr && p->nr_words < REGION_PYTHON_WORDS) {
		p->words[p->nr_words] = p->runs.walk.boundary;
		p->nr_words = agent_python_run(p, p->words, p->nr_words + 1);
	}
}

__u32 agent_python_broken(const struct agent_python *p)
{
	return (py_runs_broken(&p->runs) | p->runs.lost) != 0;
}
