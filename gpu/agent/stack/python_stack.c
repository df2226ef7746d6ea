/*
 * Python frames are found as core/portable/pyruns.h describes. The calling thread itself looks,
 * from a function that Python called: so no frame is half built, and every pointer of the chain is
 * live. The layout may still be wrong, so each page is probed once before it is read.
 *
 * One C function runs many Python functions: an equal native stack does not mean an equal Python
 * stack. So of each Python frame its address, code and position are kept for comparison.
 *
 * The name of a code object is a string of the region: struct code_record followed by the line
 * table. The string's id is the code's id.
 */
#include "gpu/agent/stack/python_stack.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/portable/pyruns.h"
#include "gpu/agent/base/arena.h"
#include "gpu/agent/stack/frame_x86_64.h"
#include "gpu/agent/stack/walk_map.h"

#define PAGE_SHIFT 12
#define NO_SUCH_HOW (-1) /* rt_sigprocmask(2) reads the set and then refuses */
#define MAX_RUNS 64	 /* runs without a native frame */

static struct code_slot *slots;

int python_stack_init(void)
{
	slots = agent_map(CODE_SLOTS * sizeof(*slots));
	return slots ? 0 : -ENOMEM;
}

static bool is_readable(struct python_stack *p, uint64_t page)
{
	uint64_t *known = &p->pages[page % PYTHON_PAGES];
	int saved = errno; /* the application must not see our error */

	if (*known == page)
		return page != 0;
	budget_charge(&p->budget, COST_SYSCALL);
	if (syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, page << PAGE_SHIFT, NULL, 8) < 0 &&
	    errno == EFAULT) {
		errno = saved;
		return false;
	}
	errno = saved;
	*known = page;
	return page != 0;
}

static bool are_readable(struct python_stack *p, uint64_t address, uint64_t size)
{
	if (!size || address >= WALK_USER_END || size > WALK_USER_END - address)
		return !size;
	for (uint64_t page = address >> PAGE_SHIFT; page <= (address + size - 1) >> PAGE_SHIFT;
	     page++)
		if (!is_readable(p, page))
			return false;
	return true;
}

static __always_inline int py_read(const struct py_walk *w, void *to, __u32 size, __u64 address)
{
	/* w is runs.walk, the first member */
	struct python_stack *p = (struct python_stack *)(uintptr_t)w;

	if (!are_readable(p, address, size))
		return -1;
	memcpy(to, (const void *)address, size);
	return 0;
}

static __always_inline int py_is_spent(struct py_runs *r, void *home)
{
	struct python_stack *p = home;

	(void)r;
	budget_charge(&p->budget, COST_PYTHON_FRAME);
	return p->budget.left < 0;
}

/* Tells a code object from a later one at the same address. */
static uint64_t mark_of(const struct py_layout *l, uint64_t code)
{
	uint64_t name, version = 0;

	memcpy(&name, (const void *)(code + l->code_name), 8);
	if (l->code_version)
		memcpy(&version, (const void *)(code + l->code_version), 4);
	return name ^ version << 40;
}

static uint32_t linetable_size(struct python_stack *p)
{
	const uint32_t max = GPU_MAX_STRING - 1 - (uint32_t)sizeof(struct code_record);
	uint32_t size = p->code.record.linetable_size;

	if (size > CODE_MAX_LINETABLE)
		size = CODE_MAX_LINETABLE;
	if (size > max)
		size = max;
	return are_readable(p, p->code.record.address, size) ? size : 0;
}

/* No cache in between: looking the code up costs little here. */
static __always_inline __u64 py_known_code(const struct py_layout *l, struct py_runs *r, void *home)
{
	(void)l;
	(void)r;
	(void)home;
	return 0;
}

static __always_inline __u64 py_code_id(const struct py_layout *l, struct py_runs *r, void *home)
{
	struct python_stack *p = home;
	uint64_t key = py_code_print(l, r, 0);
	struct code_slot *slot = &slots[key & (CODE_SLOTS - 1)];
	uint64_t id = py_slot_id(slot, key);
	uint32_t size;

	if (id)
		return id;
	memset(&p->code.record, 0, sizeof(p->code.record));
	py_fill_code(l, &r->walk, &p->code.record);
	size = linetable_size(p);
	memcpy(p->code.linetable, (const void *)p->code.record.address, size);
	p->code.record.linetable_copied = size;
	p->code.record.address = 0; /* so that equal code is one string */
	id = arena_string((const char *)&p->code, sizeof(p->code.record) + size);
	if (id)
		py_slot_fill(slot, key, id);
	return id;
}

static __always_inline void py_keep_frame(void *home, __u64 frame)
{
	struct python_stack *p = home;

	if (p->nr < GPU_MAX_STACK)
		p->frames[p->nr++] = frame;
	else
		p->cut = true;
}

static __attribute__((noinline)) int take_frame(struct python_stack *p)
{
	struct py_walk *w = &p->runs.walk;
	uint32_t nr = p->runs.nr;
	uint64_t at = w->frame;
	int over = py_take_frame(&p->layout, &p->runs, p);

	if (p->runs.nr == nr)
		return over;
	if (p->nr_kept < PYTHON_KEPT)
		p->kept[p->nr_kept] = (struct python_kept){
			.frame = at,
			.code = w->code,
			.position = py_word(w->words, p->layout.frame_position),
			.mark = mark_of(&p->layout, w->code),
		};
	p->nr_kept++;
	return over;
}

static __always_inline void py_take_frames(const struct py_layout *l, struct py_runs *r, void *home)
{
	(void)l;
	for (uint32_t i = 0; i < PY_MAX_RUN; i++)
		if (take_frame(home))
			return;
	r->walk.broken = 1;
	r->walk.frame = 0;
}

static __attribute__((noinline)) void next_run(struct python_stack *p)
{
	py_next_run(&p->layout, &p->runs, p);
}

static uint64_t thread_pointer(void)
{
	return (uint64_t)(uintptr_t)__builtin_thread_pointer();
}

/* The innermost frame. Only for a chain that was walked before: its pages are readable. */
static uint64_t innermost(const struct py_layout *l, uint64_t state)
{
	uint64_t frame, cframe;

	if (l->chain == PY_CHAIN_CFRAME) {
		memcpy(&cframe, (const void *)(state + l->thread_cframe), 8);
		memcpy(&frame, (const void *)(cframe + l->cframe_frame), 8);
	} else {
		memcpy(&frame, (const void *)(state + l->thread_frame), 8);
	}
	return frame;
}

static uint64_t word_at(uint64_t address)
{
	uint64_t word;

	memcpy(&word, (const void *)address, 8);
	return word;
}

static bool is_mark(const struct py_layout *l, uint64_t frame)
{
	return l->chain >= PY_CHAIN_CFRAME && !l->entry_flag &&
	       *(const uint8_t *)(frame + l->frame_owner) == l->shim_owner;
}

/*
 * Compares frame by frame. A frame is read only after the one before it has led there: it is live.
 */
static bool are_same(const struct python_stack *p, uint64_t frame)
{
	const struct py_layout *l = &p->layout;

	for (uint32_t i = 0; i < p->nr_kept; i++) {
		const struct python_kept *k = &p->kept[i];
		uint64_t code;

		while (frame && frame != k->frame && is_mark(l, frame))
			frame = word_at(frame + l->frame_previous);
		if (!frame || frame != k->frame)
			return false;
		code = word_at(frame + l->frame_code);
		if (l->stackref)
			code &= ~3ull;
		if (code != k->code || word_at(frame + l->frame_position) != k->position ||
		    mark_of(l, code) != k->mark)
			return false;
		frame = word_at(frame + l->frame_previous);
	}
	return true;
}

/* The layout may change while it is copied; take_stack() notices by the generation. */
static bool take_layout(struct python_stack *p, uint32_t generation)
{
	if (p->generation != generation)
		p->layout = *walk_map_python(generation);
	p->generation = generation;
	return p->layout.runtime && p->layout.chain;
}

bool python_stack_is_same(const struct thread *t, uint32_t generation)
{
	const struct python_stack *p = &t->python;
	uint64_t state;

	if (p->generation != generation)
		return !walk_map_python(generation)->runtime && !p->layout.runtime;
	if (!p->layout.runtime)
		return true;
	state = py_thread_state(&p->layout, &p->runs.walk, thread_pointer());
	if (state != p->state || p->broken || p->nr_kept > PYTHON_KEPT)
		return false;
	return !state || are_same(p, innermost(&p->layout, state));
}

static void keep_run(struct python_stack *p)
{
	for (uint32_t i = 0; i < p->runs.nr && i < PY_RUN_WORDS; i++)
		py_keep_frame(p, p->runs.words[i]);
	py_keep_rest(&p->layout, &p->runs, p);
	next_run(p);
}

static void merge(struct thread *t)
{
	const struct frames *f = stack_frames(&t->stack);
	struct python_stack *p = &t->python;
	uint32_t nr = t->stack.nr;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t sp = f->walked[i].sp, cfa = i + 1 < nr ? f->walked[i + 1].sp : sp;

		if (py_run_is_at(&p->runs, f->pcs[i] - 1, sp, cfa))
			keep_run(p);
		else
			py_keep_frame(p, f->pcs[i]);
	}
	for (uint32_t i = 0; i < MAX_RUNS && p->runs.nr; i++)
		keep_run(p);
}

uint32_t python_stack_merge(struct thread *t, uint32_t generation, uint8_t *ret_end)
{
	struct python_stack *p = &t->python;

	p->nr = p->nr_kept = 0;
	p->state = 0;
	p->cut = p->broken = false;
	p->budget = (struct walk_budget){ .left = BUDGET_UNITS };
	if (!take_layout(p, generation))
		return 0;
	py_clear_runs(&p->runs);
	p->runs.lost = 0;
	if (py_begin_runs(&p->layout, &p->runs, thread_pointer()))
		next_run(p);
	p->state = p->runs.walk.thread;
	if (!p->runs.nr)
		return 0;
	merge(t);
	p->broken = py_runs_broken(&p->runs) || p->runs.lost;
	*ret_end = p->runs.spent ? END_TOO_LONG : p->cut ? END_TOO_DEEP : t->stack.end;
	return p->nr;
}
