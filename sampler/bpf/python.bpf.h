/*
 * The Python side of a walk: finds the frames of the thread by core/pyframes.h and hands them to the
 * walker one run at a time, each frame a word that names its code object by number. What a code
 * object is called, and its line table, go into the ring when it is first met: it is alive then, for
 * the interrupted frame holds it, and may be gone a moment later.
 */
#ifndef SPROF_PYTHON_BPF_H
#define SPROF_PYTHON_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/pyframes.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/task.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PYTHONS);
	__type(key, __u32);
	__type(value, struct py_layout);
} pythons SEC(".maps");

/* Which code objects the recorder has been told of. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODE_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct code_slot);
} code_slots SEC(".maps");

#define LINETABLE_PIECE 1024
#define FRAMES_PER_BATCH 512 /* the verifier follows each, up to 8192 */

struct code_buffer {
	struct code_event event;
	__u8 linetable[CODE_MAX_LINETABLE];
};

/* One per CPU. Not a per-CPU array: those hold 32 KiB at most. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets it */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct code_buffer));
} code_buffers SEC(".maps");

static __always_inline int py_read(void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (void *)address);
}

static __always_inline const struct py_layout *python_layout(struct walk_state *st)
{
	__u32 index = st->python;

	return bpf_map_lookup_elem(&pythons, &index);
}

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

/*
 * What tells a string from another at the same address: its length and its hash. Few strings that
 * name code have not had their hash computed; of those, the last bytes.
 */
static __always_inline __u64 string_print(const struct py_layout *l, struct py_walk *w,
					  __u64 address, __u64 print)
{
	__u64 *head = w->strings, tail[4] = {}, size, at;

	if (bpf_probe_read_user(head, 24, (void *)(address + l->string_header)))
		return print;
	print = mix(mix(print, head[0]), head[1]);
	if (head[1] != -1ull)
		return print;
	at = address +
	     (head[2] >> (l->string_kind_shift + 4) & 1 ? l->string_ascii : l->string_compact);
	size = head[0] * (head[2] >> l->string_kind_shift & 7);
	if (size >= 32)
		bpf_probe_read_user(tail, 32, (void *)(at + size - 32));
	else
		bpf_probe_read_user(tail, size & 31, (void *)at);
	return mix(mix(mix(mix(print, tail[0]), tail[1]), tail[2]), tail[3]);
}

/* The last CODE_NAME_SIZE bytes at most of a str. */
static __always_inline void copy_string(const struct py_layout *l, struct py_walk *w, __u64 address,
					struct code_string *to)
{
	__u64 *head = w->strings, size, at;
	__u32 kind;

	to->size = 0;
	to->form = 0;
	to->cut = 0;
	if (bpf_probe_read_user(head, 24, (void *)(address + l->string_header)))
		return;
	kind = head[2] >> l->string_kind_shift & 7;
	to->form = kind;
	if (head[2] >> (l->string_kind_shift + 4) & 1)
		to->form |= CODE_STRING_ASCII;
	at = address + (to->form & CODE_STRING_ASCII ? l->string_ascii : l->string_compact);
	size = head[0] * kind;
	if (head[0] >> 28)
		return;
	if (size > CODE_NAME_SIZE) {
		at += size - CODE_NAME_SIZE;
		size = CODE_NAME_SIZE;
		to->cut = 1;
	}
	if (size > CODE_NAME_SIZE || bpf_probe_read_user(to->text, size, (void *)at))
		return;
	to->size = size;
}

/*
 * Copies a piece of the line table at st->copy_from. 0 = go on. Where it is comes from memory each
 * time: the verifier knows nothing of it, and so does not follow every length.
 */
static __always_inline int copy_linetable_piece(struct walk_state *st, struct code_buffer *to)
{
	__u64 done = *(volatile __u64 *)&st->copied, size = *(volatile __u64 *)&st->copy_size;
	__u64 chunk = size - done;

	if (done >= size || done > CODE_MAX_LINETABLE - LINETABLE_PIECE)
		return 1;
	if (chunk > LINETABLE_PIECE)
		chunk = LINETABLE_PIECE;
	if (bpf_probe_read_user(to->linetable + done, chunk, (void *)(st->copy_from + done)))
		return 1;
	*(volatile __u64 *)&st->copied = done + chunk;
	return 0;
}

/* Sends what the code object in hand is. Its number, or 0: no room in the ring. */
__noinline __u64 send_code(struct walk_state *st)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct code_buffer *b = bpf_map_lookup_elem(&code_buffers, &cpu);
	const struct py_layout *l;
	struct code_event *e;
	__u64 table, size = 0, copied;

	if (!st || !b)
		return 0;
	l = python_layout(st);
	if (!l)
		return 0;
	e = &b->event;
	e->header = st->event.header;
	e->header.type = EVENT_CODE;
	e->id = ((__u64)cpu << 28 | (++st->nr_codes & 0xfffffff)) & CODE_ID_MASK;
	e->minor = l->minor;
	e->first_line = py_word32(st->py.object, l->code_firstline);
	copy_string(l, &st->py, py_word(st->py.object, l->code_name), &e->name);
	copy_string(l, &st->py, py_word(st->py.object, l->code_filename), &e->file);
	table = py_word(st->py.object, l->code_linetable);
	if (bpf_probe_read_user(&size, 8, (void *)(table + l->bytes_size)))
		size = 0;
	e->address = table + l->bytes_data;
	st->copied = 0;
	st->copy_from = e->address;
	st->copy_size = size;
	for (int i = 0; i < CODE_MAX_LINETABLE / LINETABLE_PIECE; i++)
		if (copy_linetable_piece(st, b))
			break;
	copied = st->copied;
	if (copied > CODE_MAX_LINETABLE)
		return 0;
	e->linetable_size = size >> 32 ? ~0u : (__u32)size;
	e->linetable_copied = copied;
	if (bpf_ringbuf_output(&ring, b, sizeof(*e) + copied, BPF_RB_NO_WAKEUP))
		return 0;
	return e->id;
}

/*
 * What tells the code object in hand from any other that was or will be at its address: from 3.12 on
 * it has a number of its own, before that its name and its file must do.
 */
static __always_inline __u64 code_print(const struct py_layout *l, struct walk_state *st)
{
	struct py_walk *w = &st->py;
	__u64 name = py_word(w->object, l->code_name), file = py_word(w->object, l->code_filename);
	__u32 version = l->code_version ? py_word32(w->object, l->code_version) : 0;
	__u64 key;

	key = mix(w->code, (__u64)st->event.header.tgid << 32 | version);
	key = mix(key + name, file ^ py_word(w->object, l->code_linetable) << 16 ^
				      py_word32(w->object, l->code_firstline));
	if (version)
		return key;
	/* Frames of one file follow each other. */
	if (st->file != file) {
		st->file = file;
		st->file_print = string_print(l, w, file, 0);
	}
	return string_print(l, w, name, mix(key, st->file_print));
}

/* The number of the code object in hand, or 0. */
static __always_inline __u64 code_id(const struct py_layout *l, struct walk_state *st)
{
	__u64 key = code_print(l, st), id;
	struct code_slot *slot;
	__u32 at;

	at = key & (CODE_SLOTS - 1);
	slot = bpf_map_lookup_elem(&code_slots, &at);
	if (!slot)
		return 0;
	id = slot->id;
	/* Another CPU may be writing the slot: the number carries a part of its key. */
	if (slot->key == key && id >> CODE_ID_BITS == key >> CODE_ID_BITS)
		return id & CODE_ID_MASK;
	id = send_code(st);
	if (id) {
		slot->id = 0;
		slot->key = key;
		slot->id = id | (key & ~CODE_ID_MASK);
	}
	return id;
}

/*
 * Takes the frame at py.frame into the run, and goes to the next one; what does not fit stays where
 * it is, from py_rest on. 0 = go on; else the run is over.
 */
__noinline int python_frame(struct walk_state *st)
{
	const struct py_layout *l;
	struct py_walk *w;
	__u64 id, position, at;
	int last;

	if (!st)
		return 1;
	l = python_layout(st);
	w = &st->py;
	at = w->frame;
	if (!l)
		return 1;
	/* A generator that is just yielding has let go of its caller, and is still the first. */
	if (!at) {
		st->python_cut = 1;
		goto broken;
	}
	if (py_read_frame(l, w))
		goto broken;
	last = py_is_last(l, w);
	w->frame = py_word(w->words, l->frame_previous);
	if (py_is_shim(l, w)) {
		w->boundary = at;
		return 1;
	}
	if (st->python_scans)
		return last;
	if (!st->python_rest && st->nr_run >= MAX_RUN_WORDS) {
		st->python_rest = at;
		st->python_scans = 1;
		return last;
	}
	if (py_read_code(l, w))
		goto broken;
	position = py_read_position(l, w) >> 1;
	if (position > CODE_POSITION_MASK)
		position = 0;
	id = code_id(l, st);
	if (!id)
		st->python_lost = 1;
	id = FRAME_PYTHON | id << CODE_POSITION_BITS | position;
	if (st->python_rest)
		keep_frame(st, id);
	else
		st->run[st->nr_run++ & (MAX_RUN_WORDS - 1)] = id;
	return last;
broken:
	w->frame = 0;
	w->broken = 1;
	return 1;
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

static __always_inline void python_frames(struct walk_state *st)
{
	for (int i = 0; i < PY_MAX_RUN / FRAMES_PER_BATCH; i++)
		if (python_batch(st))
			return;
	st->py.broken = 1;
	st->py.frame = 0;
}

/* Takes the run at py.frame, before any of it counts. 1 = it is there. */
static __always_inline int take_run(struct walk_state *st)
{
	st->nr_run = 0;
	st->python_rest = st->python_scans = 0;
	if (!st->py.frame || st->py.broken)
		return 0;
	python_frames(st);
	return !st->py.broken;
}

/*
 * Takes the run of py.cframe, if it is whole: for a few instructions after a call of the eval loop its
 * CFrame is linked and not filled yet. The end of its run must lead to the CFrame before it.
 */
static __always_inline int take_cframe_run(const struct py_layout *l, struct walk_state *st)
{
	__u64 frame, previous, next = 0, boundary = st->py.cframe;

	st->nr_run = 0;
	if (py_read_cframe(l, &st->py, &frame, &previous))
		return 0;
	st->py.cframe = previous;
	st->py.frame = frame;
	if (!frame) /* the thread's own, below all others */
		return !previous;
	if (!take_run(st) || !previous || py_read(&next, 8, previous + l->cframe_frame))
		return 0;
	st->py.boundary = boundary;
	return next == st->py.frame;
}

/*
 * Takes the next run in hand: its frames (st->run), where it is on the C stack (py.boundary), and
 * where the one after it begins.
 */
__noinline int python_next_run(struct walk_state *st)
{
	const struct py_layout *l;
	struct py_walk *w;
	__u64 boundary;
	int failures = 0;

	if (!st)
		return 0;
	l = python_layout(st);
	w = &st->py;
	w->boundary = 0;
	st->nr_run = 0;
	if (!l)
		return 0;
	if (l->chain == PY_CHAIN_CFRAME) {
		for (int i = 0; i < 4; i++) {
			if (take_cframe_run(l, st)) {
				/* None: its last frame is just being cleared away. */
				if (st->nr_run || !w->cframe)
					return 0;
				continue;
			}
			w->broken = 0;
			if (failures++)
				break;
		}
		st->nr_run = 0;
		w->broken = 1;
		return 0;
	}
	if (l->chain == PY_CHAIN_CFRAME1) {
		boundary = w->cframe;
		take_run(st);
		w->boundary = boundary;
		if (!w->cframe || py_read(&w->cframe, 8, w->cframe + l->cframe_previous))
			w->cframe = 0;
		return 0;
	}
	/* A call that has no frame yet is a run of none. */
	for (int i = 0; i < 4; i++)
		if (!take_run(st) || st->nr_run)
			break;
	if (w->broken)
		st->nr_run = 0;
	return 0;
}

/* Keeps the run's frame number st->low, and goes to the next. 0 = go on. */
__noinline int python_keep_next(struct walk_state *st)
{
	__u32 at;

	if (!st)
		return 1;
	at = st->low;
	if (at >= st->nr_run)
		return 1;
	keep_frame(st, st->run[at & (MAX_RUN_WORDS - 1)]);
	st->low = at + 1;
	return 0;
}

/* Keeps the frames of the run in hand, and takes the next one in hand. */
__noinline int python_run(struct walk_state *st)
{
	__u64 next;

	if (!st)
		return 0;
	st->low = 0;
	for (int i = 0; i < (int)MAX_RUN_WORDS; i++)
		if (python_keep_next(st))
			break;
	if (st->python_rest) {
		next = st->py.frame;
		st->py.frame = st->python_rest;
		st->python_scans = 0;
		python_frames(st);
		st->py.frame = next;
	}
	python_next_run(st);
	return 0;
}

/* Begins the walk over the frames of this thread, if it runs Python. */
__noinline int python_begin(struct walk_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct py_layout *l;

	if (!st)
		return 0;
	l = python_layout(st);
	st->nr_run = 0;
	st->py.broken = st->python_cut = 0;
	st->file = 0;
	if (!l || !l->runtime)
		return 0;
	st->eval_start = l->eval_start;
	st->eval_size = l->eval_end - l->eval_start;
	if (!py_begin(l, &st->py, BPF_CORE_READ(task, thread.fsbase)))
		python_next_run(st);
	return 0;
}

/* Keeps the boundary of the run in hand, and its frames. 1: there is none. */
__noinline int python_keep_run(struct walk_state *st)
{
	if (!st || !st->nr_run)
		return 1;
	keep_frame(st, st->py.boundary);
	python_run(st);
	return 0;
}

/* Sends the thread's Python frames for a sample that the recorder unwinds itself. */
static __always_inline void send_python(struct walk_state *st)
{
	__u64 nr;

	st->nr_user = 0;
	python_begin(st);
	if (!st->nr_run && !st->py.broken && !st->python_cut)
		return;
	for (int i = 0; i < MAX_USER_FRAMES / 2; i++)
		if (python_keep_run(st))
			break;
	st->event.header.type = EVENT_PYTHON;
	st->event.python_broken = st->py.broken | st->python_cut;
	st->event.nr_total = st->nr_user;
	st->event.nr_user = st->nr_user < MAX_USER_FRAMES ? st->nr_user : MAX_USER_FRAMES;
	nr = st->event.nr_kernel + st->event.nr_user;
	if (nr <= MAX_KERNEL_FRAMES + MAX_USER_FRAMES)
		bpf_ringbuf_output(&ring, &st->event, sizeof(st->event) + nr * 8, BPF_RB_NO_WAKEUP);
}

/* What no native frame was found for: the native walk ended early. */
static __always_inline void python_finish(struct walk_state *st)
{
	for (int i = 0; i < 64; i++) {
		if (!st->nr_run)
			break;
		python_run(st);
	}
}

#endif
