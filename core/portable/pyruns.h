/*
 * The walk over the Python frames of a thread, run by run, and the naming of code objects. The BPF
 * program and the code inside a target share it; pyframes.h has the reads. At each of its frames,
 * the native walk asks whether that frame executes the current run (py_run_is_at); if so, it keeps
 * the run and goes on to the next run.
 *
 * A file that includes this defines, besides py_read(), the functions declared below. They get
 * `home`, a pointer of that file's own.
 */
#ifndef SPROF_PYRUNS_H
#define SPROF_PYRUNS_H

#include "core/portable/pycode.h"
#include "core/portable/pyframes.h"

/*
 * Returns the number of the current code object (walk.object), and sends the object if it was not
 * sent yet; 0 if there is no room.
 */
static __always_inline __u64 py_code_id(const struct py_layout *l, struct py_runs *r, void *home);
/* Returns the number of the code object at walk.code if it is known without reading it; else 0. */
static __always_inline __u64 py_known_code(const struct py_layout *l, struct py_runs *r,
					   void *home);
/* Charges the sample for a frame. Returns not 0 if its budget (budget.h) is spent. */
static __always_inline int py_is_spent(struct py_runs *r, void *home);
/*
 * Calls py_read_code() and py_code_id(); returns -1 if there is no code object. A file that must
 * not inline so much code defines PY_MEETS_CODE and its own function, which calls
 * py_meet_new_code().
 */
static __always_inline __s64 py_meet_code(const struct py_layout *l, struct py_runs *r, void *home);
/* Adds a frame to the stack at once, if its run is too long for py_runs.words. */
static __always_inline void py_keep_frame(void *home, __u64 frame);
/*
 * Calls py_take_frame() until it returns not 0; after PY_MAX_RUN calls the walk counts as broken.
 */
static __always_inline void py_take_frames(const struct py_layout *l, struct py_runs *r,
					   void *home);

static __always_inline __u64 py_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

/*
 * Identifies a string by its length and its hash, or by its last bytes if no hash has been
 * computed, as for a few strings that name code.
 */
static __always_inline __u64 py_string_print(const struct py_layout *l, struct py_walk *w,
					     __u64 address, __u64 print)
{
	__u64 *head = w->strings, *tail = w->strings + 4, size, at;

	if (py_read(w, head, 24, address + l->string_header))
		return print;
	print = py_mix(py_mix(print, head[0]), head[1]);
	if (head[1] != -1ull)
		return print;
	at = address +
	     (head[2] >> (l->string_kind_shift + 4) & 1 ? l->string_ascii : l->string_compact);
	size = head[0] * (head[2] >> l->string_kind_shift & 7);
	tail[0] = tail[1] = tail[2] = tail[3] = 0;
	if (size >= 32)
		py_read(w, tail, 32, at + size - 32);
	else
		py_read(w, tail, size & 31, at);
	return py_mix(py_mix(py_mix(py_mix(print, tail[0]), tail[1]), tail[2]), tail[3]);
}

/* Copies at most the last CODE_NAME_SIZE bytes of a str. */
static __always_inline void py_copy_string(const struct py_layout *l, struct py_walk *w,
					   __u64 address, struct code_string *to)
{
	__u64 *head = w->strings, size, at;
	__u32 kind;

	to->size = 0;
	to->form = 0;
	to->cut = 0;
	if (py_read(w, head, 24, address + l->string_header))
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
	if (size > CODE_NAME_SIZE || py_read(w, to->text, size, at))
		return;
	to->size = size;
}

/* Fills the record of the current code object except its number and the bytes of its line table. */
static __always_inline void py_fill_code(const struct py_layout *l, struct py_walk *w,
					 struct code_record *to)
{
	__u64 table = py_word(w->object, l->code_linetable), size = 0;

	to->minor = l->minor;
	to->first_line = py_word32(w->object, l->code_firstline);
	py_copy_string(l, w, py_word(w->object, l->code_name), &to->name);
	py_copy_string(l, w, py_word(w->object, l->code_filename), &to->file);
	if (py_read(w, &size, 8, table + l->bytes_size))
		size = 0;
	to->address = table + l->bytes_data;
	to->linetable_size = size >> 32 ? ~0u : (__u32)size;
	to->linetable_copied = 0;
}

/*
 * Identifies the current code object among all that are or will be at its address: from 3.12 on by
 * its unique number, before by its name and file. `salt` belongs to the process.
 */
static __always_inline __u64 py_code_print(const struct py_layout *l, struct py_runs *r, __u32 salt)
{
	struct py_walk *w = &r->walk;
	__u64 name = py_word(w->object, l->code_name), file = py_word(w->object, l->code_filename);
	__u32 version = l->code_version ? py_word32(w->object, l->code_version) : 0;
	__u64 key;

	key = py_mix(w->code, (__u64)salt << 32 | version);
	key = py_mix(key + name, file ^ py_word(w->object, l->code_linetable) << 16 ^
					 py_word32(w->object, l->code_firstline));
	if (version)
		return key;
	/* Successive frames are often of one file, so its hash is kept. */
	if (r->file != file) {
		r->file = file;
		r->file_print = py_string_print(l, w, file, 0);
	}
	return py_string_print(l, w, name, py_mix(key, r->file_print));
}

/*
 * Returns the number that a slot holds for a key, or 0. Another thread may be writing the slot, so
 * the number carries a part of its key.
 */
static __always_inline __u64 py_slot_id(const struct code_slot *slot, __u64 key)
{
	__u64 id = *(const volatile __u64 *)&slot->id;

	if (*(const volatile __u64 *)&slot->key == key && id >> CODE_ID_BITS == key >> CODE_ID_BITS)
		return id & CODE_ID_MASK;
	return 0;
}

static __always_inline void py_slot_fill(struct code_slot *slot, __u64 key, __u64 id)
{
	*(volatile __u64 *)&slot->id = 0;
	*(volatile __u64 *)&slot->key = key;
	*(volatile __u64 *)&slot->id = id | (key & ~CODE_ID_MASK);
}

/* Ends the walk over the frames. What was read stays. */
static __always_inline int py_stop(struct py_runs *r)
{
	r->spent = 1;
	r->walk.frame = r->walk.cframe = 0;
	return 1;
}

static __always_inline __s64 py_meet_new_code(const struct py_layout *l, struct py_runs *r,
					      void *home)
{
	return py_read_code(l, &r->walk) ? -1 : (__s64)py_code_id(l, r, home);
}

#ifndef PY_MEETS_CODE
static __always_inline __s64 py_meet_code(const struct py_layout *l, struct py_runs *r, void *home)
{
	return py_meet_new_code(l, r, home);
}
#endif

/*
 * Adds the frame at walk.frame to the run and goes to the next one; frames that do not fit are left
 * from r->rest on. Returns 0 to go on; not 0: the run is over.
 */
static __always_inline int py_take_frame(const struct py_layout *l, struct py_runs *r, void *home)
{
	struct py_walk *w = &r->walk;
	__u64 position, at = w->frame;
	__s64 id;
	int last;

	if (py_is_spent(r, home))
		return py_stop(r);
	/*
	 * A generator that is just yielding is still the first frame, but not linked to its caller
	 * any more.
	 */
	if (!at) {
		r->cut = 1;
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
	if (r->scans)
		return last;
	if (!r->rest && r->nr >= PY_RUN_WORDS) {
		r->rest = at;
		r->scans = 1;
		return last;
	}
	py_take_code(l, w);
	id = (__s64)py_known_code(l, r, home);
	if (!id) {
		id = py_meet_code(l, r, home);
		if (id < 0)
			goto broken;
		if (r->spent)
			return py_stop(r);
		if (!id)
			r->lost = 1;
	}
	position = py_read_position(l, w) >> 1;
	if (position > CODE_POSITION_MASK)
		position = 0;
	position |= FRAME_PYTHON | (__u64)id << CODE_POSITION_BITS;
	if (r->rest)
		py_keep_frame(home, position);
	else
		r->words[r->nr++ & (PY_RUN_WORDS - 1)] = position;
	return last;
broken:
	w->frame = 0;
	w->broken = 1;
	return 1;
}

/* Reads the run at walk.frame without adding it to the stack. Returns 1 if there is one. */
static __always_inline int py_take_run(const struct py_layout *l, struct py_runs *r, void *home)
{
	r->nr = 0;
	r->rest = r->scans = 0;
	if (!r->walk.frame || r->walk.broken)
		return 0;
	py_take_frames(l, r, home);
	return !r->walk.broken;
}

/*
 * Reads the run of walk.cframe if it is whole: for a few instructions after a call of the eval
 * loop, its CFrame is linked but not filled. The end of the run must lead to the CFrame before it.
 */
static __always_inline int py_take_cframe_run(const struct py_layout *l, struct py_runs *r,
					      void *home)
{
	struct py_walk *w = &r->walk;
	__u64 frame, previous, boundary = w->cframe, *next = w->object;

	r->nr = 0;
	if (py_read_cframe(l, w, &frame, &previous))
		return 0;
	w->cframe = previous;
	w->frame = frame;
	if (!frame) /* the CFrame of the thread itself, at the root */
		return !previous;
	if (!py_take_run(l, r, home))
		return 0;
	w->boundary = boundary;
	if (r->spent)
		return 1;
	if (!previous || py_read(w, next, 8, previous + l->cframe_frame))
		return 0;
	return *next == w->frame;
}

static __always_inline void py_next_cframe_run(const struct py_layout *l, struct py_runs *r,
					       void *home)
{
	int failures = 0;

	for (int i = 0; i < 4; i++) {
		if (py_take_cframe_run(l, r, home)) {
			/* An empty run: its last frame is just being cleared. */
			if (r->nr || !r->walk.cframe)
				return;
			continue;
		}
		r->walk.broken = 0;
		if (failures++)
			break;
	}
	r->nr = 0;
	r->walk.broken = 1;
}

/*
 * Reads the next run and makes it the current one: its frames (r->words), its place on the C stack
 * (walk.boundary), and where the run after it begins.
 */
static __always_inline void py_next_run(const struct py_layout *l, struct py_runs *r, void *home)
{
	struct py_walk *w = &r->walk;
	__u64 boundary;

	w->boundary = 0;
	r->nr = 0;
	if (r->spent)
		return;
	if (l->chain == PY_CHAIN_CFRAME) {
		py_next_cframe_run(l, r, home);
		return;
	}
	if (l->chain == PY_CHAIN_CFRAME1) {
		boundary = w->cframe;
		py_take_run(l, r, home);
		w->boundary = boundary;
		if (!w->cframe || py_read(w, &w->cframe, 8, w->cframe + l->cframe_previous))
			w->cframe = 0;
		return;
	}
	/* A call that has no frame yet is an empty run. */
	for (int i = 0; i < 4; i++)
		if (!py_take_run(l, r, home) || r->nr)
			break;
	/* In versions with shims, only the end of a run says where on the C stack it belongs. */
	if (w->broken || (r->spent && l->chain == PY_CHAIN_SHIM))
		r->nr = 0;
}

/* Adds those frames of the current run to the stack that did not fit. */
static __always_inline void py_keep_rest(const struct py_layout *l, struct py_runs *r, void *home)
{
	__u64 next = r->walk.frame;

	if (!r->rest)
		return;
	r->walk.frame = r->rest;
	r->scans = 0;
	py_take_frames(l, r, home);
	r->walk.frame = next;
}

/* Returns 1 if the thread has frames; py_next_run() then reads the first run. */
static __always_inline int py_begin_runs(const struct py_layout *l, struct py_runs *r,
					 __u64 thread_pointer)
{
	r->eval_start = l->eval_start;
	r->eval_size = l->eval_end - l->eval_start;
	return !py_begin(l, &r->walk, thread_pointer);
}

/* Prepares for a walk, without a current run. */
static __always_inline void py_clear_runs(struct py_runs *r)
{
	r->nr = 0;
	r->walk.broken = r->cut = r->spent = 0;
	r->gil = PY_GIL_UNKNOWN;
	r->file = 0;
}

/* Returns not 0 if frames are missing, or may be. */
static __always_inline __u32 py_runs_broken(const struct py_runs *r)
{
	return r->walk.broken | r->cut;
}

#endif
