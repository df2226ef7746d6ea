/*
 * The Python side of a walk: finds the frames of the thread by core/portable/pyruns.h and hands
 * them to the walker one run at a time. Each frame is a word with the number of its code object.
 * The names and the line table of a code object go into the ring when it is first met: at that
 * moment the interrupted frame keeps it alive, and later it may be gone.
 */
#ifndef SPROF_PYTHON_BPF_H
#define SPROF_PYTHON_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/python_read.bpf.h"
#include "sampler/bpf/regs_x86_64.bpf.h"
#include "sampler/bpf/task.h"

/* The code objects that have been sent to the recorder. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODE_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct code_slot);
} code_slots SEC(".maps");

/*
 * A cache of the numbers of code objects, by address and process. An entry is valid as long as one
 * of two marks holds (py_known_code()). Each CPU has its own, so that none waits for another.
 */
struct known_code {
	__u64 code; /* its address, with the process's salt and the layout's generation */
	__u64 token, numbered, id;
};
#define UNNUMBERED 1 /* known_code.numbered: CPython had given it no number, a hint */

#define KNOWN_CODE_WAYS 4
#define KNOWN_CODE_SETS 256u /* power of two */
struct known_codes {
	struct known_code ways[KNOWN_CODE_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KNOWN_CODE_SETS);
	__type(key, __u32);
	__type(value, struct known_codes);
} known_codes SEC(".maps");

#define LINETABLE_PIECE 4096
#define MAX_CODE_BYTES (2 * CODE_MAX_LINETABLE) /* that a sample sends, and one more code object */
#define FRAMES_PER_CALL 4
#define RUNS_PER_CALL 64
#define FRAMES_PER_BATCH 128 /* the verifier follows each iteration of a loop */

struct code_buffer {
	struct code_event event;
	__u8 linetable[CODE_MAX_LINETABLE];
};

/* Added to the number of the CPU: two programs on one CPU must not give the same numbers. */
const volatile __u32 first_giver;

/* One per CPU. Not a per-CPU array: those hold 32 KiB at most. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets it */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct code_buffer));
} code_buffers SEC(".maps");

/*
 * Copies a piece of the line table at st->copy_from. 0: there may be more. The position is read
 * from memory each time: the verifier does not track values in memory, so it does not follow every
 * length.
 */
static __always_inline int copy_linetable_piece(struct walk_state *st, struct code_buffer *to)
{
	__u64 done = *(volatile __u64 *)&st->copied, size = *(volatile __u64 *)&st->copy_size;
	__u64 chunk = size - done;

	if (done >= size || done > CODE_MAX_LINETABLE - LINETABLE_PIECE)
		return 1;
	if (chunk > LINETABLE_PIECE)
		chunk = LINETABLE_PIECE;
	budget_charge(&st->budget, 8 * COST_KIB); /* also for copying it into the ring */
	if (bpf_probe_read_user(to->linetable + done, chunk, (void *)(st->copy_from + done)))
		return 1;
	*(volatile __u64 *)&st->copied = done + chunk;
	return 0;
}

/*
 * Sends the code object of the current frame. Returns its number, or 0: the ring has no room, or
 * this sample has sent enough (st->py.spent).
 */
static __always_inline __u64 send_code(const struct py_layout *l, struct walk_state *st)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct code_buffer *b = bpf_map_lookup_elem(&code_buffers, &cpu);
	struct code_event *e;
	__u64 copied;

	if (!b)
		return 0;
	st->py.spent = st->code_bytes > MAX_CODE_BYTES;
	if (st->py.spent)
		return 0;
	e = &b->event;
	e->header = st->event.header;
	e->header.type = EVENT_CODE;
	e->code.id =
		((__u64)(cpu + first_giver) << 28 | (++st->nr_codes & 0xfffffff)) & CODE_ID_MASK;
	py_fill_code(l, &st->py.walk, &e->code);
	st->copied = 0;
	st->copy_from = e->code.address;
	st->copy_size = e->code.linetable_size;
	for (int i = 0; i < CODE_MAX_LINETABLE / LINETABLE_PIECE; i++)
		if (copy_linetable_piece(st, b))
			break;
	copied = st->copied;
	if (copied > CODE_MAX_LINETABLE)
		return 0;
	st->code_bytes += sizeof(*e) + copied;
	budget_charge(&st->budget, COST_KIB);
	e->code.linetable_copied = copied;
	if (bpf_ringbuf_output(&ring, b, sizeof(*e) + copied, BPF_RB_NO_WAKEUP))
		return 0;
	return e->code.id;
}

static __always_inline struct known_codes *known_set(__u64 key)
{
	__u32 at = key * 0x9fb21c651e98df25ull >> 40 & (KNOWN_CODE_SETS - 1);

	return bpf_map_lookup_elem(&known_codes, &at);
}

/* The entry with that key, or NULL. */
static __always_inline struct known_code *find_known(struct known_codes *set, __u64 key)
{
	for (int i = 0; i < KNOWN_CODE_WAYS; i++)
		if (set->ways[i].code == key)
			return &set->ways[i];
	return NULL;
}

/*
 * A number that CPython gave the code object of the current frame and gives to no later object at
 * the same address; UNNUMBERED if there is none. Some versions number functions instead: a function
 * loses its number when its code is replaced, and its next number differs. Frames of the old code
 * keep that alive meanwhile.
 */
static __always_inline __u64 code_number(const struct py_layout *l, struct walk_state *st)
{
	__u64 of = st->py.walk.code, at = of + l->code_version;
	__u32 number;

	if (!l->code_version) {
		of = py_word(st->py.walk.words, l->frame_function);
		at = of + l->function_version;
	}
	if (read_user(st, &number, sizeof(number), at) || !number)
		return UNNUMBERED;
	return py_mix(of, number);
}

/* The key of the current code object in the cache: see struct known_code. */
static __always_inline __u64 known_key(const struct py_layout *l, const struct walk_state *st)
{
	return st->py.walk.code ^ st->salt ^ (__u64)l->generation << 48;
}

static __always_inline __u64 py_known_code(const struct py_layout *l, struct py_runs *r, void *home)
{
	struct walk_state *st = home;
	__u64 key = known_key(l, st);
	struct known_codes *set;
	struct known_code *known;

	if (!py_byte(st->py.walk.words, l->frame_owner))
		st->data_stack = st->frame_at;
	st->numbered = 0;
	/* The frame runs a copy of the bytecode, whose place must be read from the code object. */
	if (l->code_copies && py_word32(st->py.walk.words, l->frame_copy))
		return 0;
	set = known_set(key);
	known = set ? find_known(set, key) : NULL;
	if (known && known->token == st->token)
		return known->id;
	/* Without a GIL two threads may give out the same number at the same time. */
	if (l->free_threaded || (!l->code_version && !l->function_version))
		return 0;
	/* If it had no number the last time, it probably has none now: it is read rarely. */
	st->numbered = UNNUMBERED;
	if (!known || known->numbered != UNNUMBERED || !(st->token & 0x1e))
		st->numbered = code_number(l, st);
	if (!known || st->numbered == UNNUMBERED || known->numbered != st->numbered)
		return 0;
	known->token = st->token;
	return known->id;
}

/* Caches the number of the current code object. */
static __always_inline void learn_code(const struct py_layout *l, struct walk_state *st, __u64 id)
{
	__u64 key = known_key(l, st);
	struct known_codes *set = known_set(key);
	struct known_code *known;

	if (!id || !set)
		return;
	known = find_known(set, key);
	if (!known)
		known = &set->ways[st->next_way++ & (KNOWN_CODE_WAYS - 1)];
	known->code = key;
	known->token = st->token;
	known->numbered = st->numbered;
	known->id = id;
}

static __always_inline __u64 py_code_id(const struct py_layout *l, struct py_runs *r, void *home)
{
	struct walk_state *st = home;
	__u64 key = py_code_print(l, r, (__u32)(st->salt ^ st->salt >> 32)), id;
	struct code_slot *slot;
	__u32 at;

	at = key & (CODE_SLOTS - 1);
	slot = bpf_map_lookup_elem(&code_slots, &at);
	if (!slot)
		return 0;
	id = py_slot_id(slot, key);
	if (!id) {
		id = send_code(l, st);
		if (id)
			py_slot_fill(slot, key, id);
	}
	learn_code(l, st, id);
	return id;
}

__noinline __s64 python_meet_code(struct walk_state *st)
{
	const struct py_layout *l;

	if (!st)
		return -1;
	l = python_layout(st);
	return l ? py_meet_new_code(l, &st->py, st) : -1;
}

static __always_inline __s64 py_meet_code(const struct py_layout *l, struct py_runs *r, void *home)
{
	return python_meet_code(home);
}

static __always_inline void py_keep_frame(void *home, __u64 frame)
{
	keep_frame(home, frame);
}

/*
 * Functions that loop, and the functions they call in a loop, are global: each is verified once.
 * Calls go eight functions deep at most: on_sample(), walk_batch(), step(), python_next_run(), and
 * from here on.
 */
__noinline int python_frame(struct walk_state *st)
{
	const struct py_layout *l;

	if (!st)
		return 1;
	l = python_layout(st);
	return !l || py_take_frame(l, &st->py, st);
}

__noinline int python_batch(struct walk_state *st)
{
	if (!st)
		return 1;
	for (int i = 0; i < FRAMES_PER_BATCH; i++)
		if (python_frame(st))
			return 1;
	return 0;
}

__noinline int python_take_frames(struct walk_state *st)
{
	if (!st)
		return 0;
	for (int i = 0; i < PY_MAX_RUN / FRAMES_PER_BATCH; i++)
		if (python_batch(st))
			return 0;
	st->py.walk.broken = 1;
	st->py.walk.frame = 0;
	return 0;
}

static __always_inline void py_take_frames(const struct py_layout *l, struct py_runs *r, void *home)
{
	python_take_frames(home);
}

/* Reads the next run of frames into st->py. */
__noinline int python_next_run(struct walk_state *st)
{
	const struct py_layout *l;

	if (!st)
		return 0;
	l = python_layout(st);
	st->py.nr = 0;
	if (l)
		py_next_run(l, &st->py, st);
	return 0;
}

/* Keeps the next few frames of the run, from number st->low on. 0: there may be more. */
__noinline int python_keep_next(struct walk_state *st)
{
	if (!st)
		return 1;
	for (int i = 0; i < FRAMES_PER_CALL; i++) {
		__u32 at = st->low;

		if (at >= st->py.nr)
			return 1;
		keep_frame(st, st->py.words[at & (PY_RUN_WORDS - 1)]);
		st->low = at + 1;
	}
	return 0;
}

/* Keeps the frames of the current run. python_next_run() comes next. */
__noinline int python_keep_frames(struct walk_state *st)
{
	if (!st)
		return 0;
	st->low = 0;
	for (int i = 0; i < (int)PY_RUN_WORDS / FRAMES_PER_CALL; i++)
		if (python_keep_next(st))
			break;
	py_keep_rest(NULL, &st->py, st);
	return 0;
}

/*
 * As long as the counter of an interpreter's code objects stands still, no code object was made, so
 * a code object that a live frame points to is the same as before. Where that counter is not known,
 * the token is different for each sample.
 */
static __always_inline __u64 code_token(const struct py_layout *l, struct walk_state *st)
{
	__u64 interp = st->py.walk.interp;
	__u32 next = 0;

	if (l->interp_versions && interp &&
	    !bpf_probe_read_user(&next, sizeof(next), (void *)(interp + l->interp_versions)) &&
	    next)
		return py_mix(py_mix(st->salt, interp), next) | 1;
	return py_mix(st->salt, st->event.header.time_ns) & ~1ull;
}

/* Begins the walk over the Python frames of this thread, if it has any. */
__noinline int python_begin(struct walk_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct py_layout *l;
	int has_frames;

	if (!st)
		return 0;
	l = python_layout(st);
	py_clear_runs(&st->py);
	if (!l || !l->runtime)
		return 0;
	has_frames = py_begin_runs(l, &st->py, TASK_THREAD_POINTER(task));
	st->py.gil = py_gil(l, &st->py.walk);
	st->frames_base = st->frames_size = 0;
	st->token = code_token(l, st);
	if (has_frames)
		python_next_run(st);
	return 0;
}

/* Keeps the boundary of the current run. 1: there is no run. */
__noinline int python_keep_boundary(struct walk_state *st)
{
	if (!st || !st->py.nr)
		return 1;
	keep_frame(st, st->py.walk.boundary);
	return 0;
}

/* Keeps the next few runs, the boundary of each before its frames. 1: there are no more. */
__noinline int python_keep_runs(struct walk_state *st)
{
	if (!st)
		return 1;
	for (int i = 0; i < RUNS_PER_CALL; i++) {
		if (python_keep_boundary(st))
			return 1;
		python_keep_frames(st);
		python_next_run(st);
	}
	return 0;
}

/* Sends the thread's Python frames, before the snapshot to which they belong. */
__noinline int send_python(struct walk_state *st)
{
	__u64 nr;

	if (!st)
		return 0;
	st->nr_user = 0;
	st->event.nr_joined = 0;
	python_begin(st);
	if (!st->py.nr && !py_runs_broken(&st->py) && !st->py.spent)
		return 0;
	for (int i = 0; i < MAX_USER_FRAMES / 2 / RUNS_PER_CALL; i++)
		if (python_keep_runs(st))
			break;
	st->event.header.type = EVENT_PYTHON;
	st->event.python_broken = py_runs_broken(&st->py) | st->py.spent;
	st->event.nr_total = st->nr_user;
	st->event.nr_user = st->nr_user < MAX_USER_FRAMES ? st->nr_user : MAX_USER_FRAMES;
	nr = st->event.nr_kernel + st->event.nr_user;
	if (nr <= MAX_KERNEL_FRAMES + MAX_USER_FRAMES)
		bpf_ringbuf_output(&ring, &st->event, sizeof(st->event) + nr * 8, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Keeps the runs for which no native frame was found, because the native walk ended early. */
__noinline int python_finish(struct walk_state *st)
{
	if (!st)
		return 0;
	for (int i = 0; i < 64; i++) {
		if (!st->py.nr)
			break;
		python_keep_frames(st);
		python_next_run(st);
	}
	return 0;
}

#endif
