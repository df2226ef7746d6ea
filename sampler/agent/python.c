/*
 * The Python frames of the thread that a signal interrupted, read by core/portable/pyruns.h.
 *
 * Every read must be safe: the innermost frame of 3.11 and 3.12 may never have been filled, so what
 * it points to may be any memory, which another thread may unmap at any instant. Pages where frames
 * and code that are sound have been met are stable: the calls that run them keep them alive. Such a
 * page is probed once in each walk, by a system call that copies from it and does nothing else, and
 * is then read directly. What is in other pages the kernel copies, which takes six times as long.
 * Where a container refuses that, all pages are probed and read.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#include "core/portable/pyruns.h"

#define PAGE_SHIFT 12
#define PAGE (1ull << PAGE_SHIFT)
#define MAX_RUNS 64 /* at the root, for which no native frame was found */

static struct agent_python *home_of(const struct py_walk *w)
{
	return (struct agent_python *)(unsigned long)w; /* runs.walk is the first thing in it */
}

static int is_stable(const struct agent_python *p, __u64 page)
{
	return p->stable[page & (REGION_PYTHON_STABLE - 1)] == (__u32)page;
}

static int is_readable(struct agent_python *p, __u64 page)
{
	__u64 *known = &p->pages[page & (REGION_PYTHON_PAGES - 1)];

	if (*known == page)
		return page != 0;
	if (!p->copy_refused && !is_stable(p, page))
		return 0;
	budget_charge(p->budget, COST_SYSCALL);
	if (!agent_is_readable(page << PAGE_SHIFT)) {
		p->stable[page & (REGION_PYTHON_STABLE - 1)] = 0;
		return 0;
	}
	*known = page;
	return page != 0;
}

/* May all of it be read directly? */
static int are_readable(struct agent_python *p, __u64 address, __u64 size)
{
	for (__u64 page = address >> PAGE_SHIFT; page <= (address + size - 1) >> PAGE_SHIFT; page++)
		if (!is_readable(p, page))
			return 0;
	return 1;
}

/* Remembers the page of a copy until it turns out whether what was in it is sound. */
static void note_fresh(struct agent_python *p, __u64 page)
{
	if (p->nr_fresh < REGION_PYTHON_FRESH)
		p->fresh[p->nr_fresh++] = (__u32)page;
}

static void settle_fresh(struct agent_python *p, int sound)
{
	for (__u32 i = 0; sound && i < p->nr_fresh; i++)
		p->stable[p->fresh[i] & (REGION_PYTHON_STABLE - 1)] = p->fresh[i];
	p->nr_fresh = 0;
}

static int copy_by_kernel(struct agent_python *p, void *to, __u32 size, __u64 address)
{
	int is_refused = 0;

	budget_charge(p->budget, COST_PAGE);
	if (agent_copy(to, size, address, &is_refused)) {
		p->copy_refused = is_refused;
		return -1;
	}
	note_fresh(p, address >> PAGE_SHIFT);
	if (address >> PAGE_SHIFT != (address + size - 1) >> PAGE_SHIFT)
		note_fresh(p, (address + size - 1) >> PAGE_SHIFT);
	return 0;
}

/* Not inlined: the code in a target has little room, and reads are many. */
static __attribute__((noinline)) int read_safely(struct agent_python *p, char *to, __u32 size,
						 __u64 address)
{
	__u32 i = 0;

	if (address >= WALK_USER_END || size > WALK_USER_END - address)
		return -1;
	if (!are_readable(p, address, size)) {
		if (!p->copy_refused && !copy_by_kernel(p, to, size, address))
			return 0;
		/* If it is only now known that the kernel may not copy, the pages can be probed. */
		if (!p->copy_refused || !are_readable(p, address, size))
			return -1;
	}
	for (; i + 8 <= size; i += 8)
		__builtin_memcpy(to + i, (const void *)(address + i), 8);
	for (; i < size; i++)
		to[i] = ((const char *)address)[i];
	return 0;
}

static __always_inline int py_read(const struct py_walk *w, void *to, __u32 size, __u64 address)
{
	return size ? read_safely(home_of(w), to, size, address) : 0;
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
	__u32 size = p->code.linetable_size, nr_pages;

	if (size > CODE_MAX_LINETABLE)
		size = CODE_MAX_LINETABLE;
	if (size > max)
		size = max;
	if (!size)
		return 0;
	nr_pages = (p->code.address % PAGE + size + PAGE - 1) / PAGE;
	budget_charge(p->budget, nr_pages * COST_PAGE);
	return agent_readable_pages(p->code.address & ~(PAGE - 1), nr_pages) == nr_pages ? size : 0;
}

/*
 * Sends p->code and its line table. What cannot be read of the table any more is zero. Returns 0,
 * or -1 where there is no room.
 */
static int put_code(struct agent_python *p)
{
	__u32 left = p->code.linetable_copied;
	__u64 at = p->code.address;
	struct agent_place place;

	if (agent_begin_code(p, (__u32)sizeof(p->code) / 8 + (left + 7) / 8, &place))
		return -1;
	agent_put_words(&place, (const __u64 *)&p->code, sizeof(p->code) / 8);
	while (left) {
		__u32 size = left < sizeof(p->block) ? left : (__u32)sizeof(p->block);

		p->block[(size - 1) / 8] = 0; /* size may end within the last word */
		if (py_read(&p->runs.walk, p->block, size, at))
			for (__u32 i = 0; i < (size + 7) / 8; i++)
				p->block[i] = 0;
		agent_put_words(&place, p->block, (size + 7) / 8);
		left -= size;
		at += size;
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
	int ret = py_take_frame(p->layout, &p->runs, p);

	settle_fresh(p, !p->runs.walk.broken);
	return ret;
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
	p->nr_fresh = 0;
	p->copy_refused = 0;
	py_clear_runs(&p->runs);
	p->runs.lost = 0;
	if (!thread_pointer)
		return;
	has_frames = py_begin_runs(p->layout, &p->runs, thread_pointer);
	p->runs.gil = py_gil(p->layout, &p->runs.walk);
	if (has_frames)
		next_run(p);
	else
		settle_fresh(p, 1);
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
