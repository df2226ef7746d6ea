/*
 * Finds the Python frames of a stopped thread: the same code in the BPF program, inside a target,
 * and in the host. No libc, no allocation, no host headers.
 *
 * A thread's PyThreadState is in a pthread key (the GILState slot), whether or not the thread holds
 * the GIL. It leads to the frames, innermost first. They come in runs: a run is the frames that one
 * call of the C function _PyEval_EvalFrameDefault executes. Each run has a boundary, an address
 * inside the C stack frame of that call. So the native frame whose [sp, CFA) contains the boundary
 * is that call, and the run replaces it.
 *
 *	up to 3.9	a run is one frame and has no boundary: the call is known by its pc
 *	3.10		a run is one frame; boundary = its CFrame
 *	3.11, 3.12	a run ends in an entry frame or a shim; boundary = its _PyCFrame
 *	from 3.13	a run ends in a shim frame that lies on the C stack and is the boundary
 *
 * Sources: CPython's Include/internal/pycore_frame.h, pycore_interpframe.h, cpython/pystate.h and
 * pycore_debug_offsets.h of each version; glibc's struct pthread for the key.
 */
#ifndef SPROF_PYFRAMES_H
#define SPROF_PYFRAMES_H

#include "core/portable/glibc_x86_64.h"
#include "core/portable/pylayout.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/*
 * Defined by the file that includes this. Returns 0, or not 0 if `size` bytes at `address` cannot
 * be read. size is below 256, except for names, which have at most CODE_NAME_SIZE bytes.
 */
static __always_inline int py_read(const struct py_walk *w, void *to, __u32 size, __u64 address);

/* Reads a frame. A file that has a better way defines PY_READS_FRAMES and its own function. */
static __always_inline int py_fetch_frame(struct py_walk *w, __u32 size, __u64 address);
#ifndef PY_READS_FRAMES
static __always_inline int py_fetch_frame(struct py_walk *w, __u32 size, __u64 address)
{
	return py_read(w, w->words, size, address);
}
#endif

static __always_inline __u64 py_word(const __u64 *words, __u32 offset)
{
	return words[(offset >> 3) & (PY_WORDS - 1)];
}

static __always_inline __u32 py_word32(const __u64 *words, __u32 offset)
{
	return (__u32)(py_word(words, offset) >> ((offset & 4) * 8));
}

static __always_inline __u8 py_byte(const __u64 *words, __u32 offset)
{
	return (__u8)(py_word(words, offset) >> ((offset & 7) * 8));
}

/* Like pthread_getspecific(), for the thread with that thread pointer; 0 = no value. */
static __always_inline __u64 py_pthread_value(const struct py_walk *w, __u64 thread_pointer,
					      __u32 key)
{
	__u64 block = thread_pointer + GLIBC_PTHREAD_BLOCK1, value;

	if (key >= 1024)
		return 0;
	if (key >= 32 &&
	    (py_read(w, &block, 8, thread_pointer + GLIBC_PTHREAD_SPECIFIC + (key >> 5) * 8) ||
	     !block))
		return 0;
	if (py_read(w, &value, 8, block + (key & 31) * 16 + 8))
		return 0;
	return value;
}

/*
 * Returns the address of the thread-local variable, or 0. Like __tls_get_addr() (U. Drepper, "ELF
 * Handling For Thread-Local Storage"), for a block that the thread has allocated.
 */
static __always_inline __u64 py_tls_address(const struct py_layout *l, const struct py_walk *w,
					    __u64 thread_pointer)
{
	__u64 index[2], dtv, block;

	if (l->tls == PY_TLS_EXEC)
		return thread_pointer + (__s64)l->tls_offset;
	if (py_read(w, index, 16, l->runtime + (__s64)l->tls_offset))
		return 0;
	if (l->tls == PY_TLS_INITIAL)
		return thread_pointer + index[0];
	if (!index[0] || index[0] >> 16 ||
	    py_read(w, &dtv, 8, thread_pointer + GLIBC_PTHREAD_DTV) ||
	    py_read(w, &block, 8, dtv + index[0] * 16) || block == -1ull || !block)
		return 0;
	return block + index[1];
}

/* Returns the PyThreadState of the thread, or 0. */
static __always_inline __u64 py_thread_state(const struct py_layout *l, const struct py_walk *w,
					     __u64 thread_pointer)
{
	__u32 key[2]; /* initialised, key */
	__u64 value;

	if (l->tls_offset) {
		value = py_tls_address(l, w, thread_pointer);
		return value && !py_read(w, &value, 8, value) ? value : 0;
	}
	if (py_read(w, key, 8, l->runtime + l->tss_key) || !key[0])
		return 0;
	return py_pthread_value(w, thread_pointer, key[1]);
}

/* Reads the frame at w->frame. Returns 0, or not 0 if it cannot be a frame. */
static __always_inline int py_read_frame(const struct py_layout *l, struct py_walk *w)
{
	if (w->frame & 7)
		return 1;
	return py_fetch_frame(w, l->frame_size & 255, w->frame);
}

/* Is the current frame a shim, which marks the end of a run and belongs to no function? */
static __always_inline int py_is_shim(const struct py_layout *l, const struct py_walk *w)
{
	return l->chain >= PY_CHAIN_CFRAME && !l->entry_flag &&
	       py_byte(w->words, l->frame_owner) == l->shim_owner;
}

/* Is the current frame the last of its run? For versions without shims. */
static __always_inline int py_is_last(const struct py_layout *l, const struct py_walk *w)
{
	return l->chain < PY_CHAIN_CFRAME ||
	       (l->entry_flag && py_byte(w->words, l->entry_flag) == 1);
}

/* Sets w->code to the address of the current frame's code object. */
static __always_inline void py_take_code(const struct py_layout *l, struct py_walk *w)
{
	w->code = py_word(w->words, l->frame_code);
	if (l->stackref)
		w->code &= ~3ull;
}

/* Reads the code object of the current frame. Returns 0, or not 0 if there is none. */
static __always_inline int py_read_code(const struct py_layout *l, struct py_walk *w)
{
	py_take_code(l, w);
	if ((w->code & 7) || py_read(w, w->object, l->code_size & 255, w->code))
		return 1;
	return py_word(w->object, l->object_type) != l->code_type;
}

/* Returns where the bytecode begins that the current frame runs. */
static __always_inline __u64 py_bytecode(const struct py_layout *l, const struct py_walk *w)
{
	__u64 start = w->code + l->code_first;
	__u32 copy = l->code_copies ? py_word32(w->words, l->frame_copy) : 0;

	if (!copy || copy > 0xffff)
		return start;
	if (py_read(w, &start, 8, py_word(w->object, l->code_copies) + 8 + copy * 8))
		return w->code + l->code_first;
	return start;
}

/*
 * Returns the position of the current frame in its code: a byte offset, -2 before the first
 * instruction.
 */
static __always_inline __u64 py_read_position(const struct py_layout *l, const struct py_walk *w)
{
	switch (l->position) {
	case PY_POSITION_BYTES: return (__s64)(__s32)py_word32(w->words, l->frame_position);
	case PY_POSITION_UNITS: return 2 * (__s64)(__s32)py_word32(w->words, l->frame_position);
	default: return py_word(w->words, l->frame_position) - py_bytecode(l, w);
	}
}

#define PY_STATE_READ 192u /* bytes read of a thread's state, which is larger */

/*
 * Reads a word of the thread's state, whose first part is in w->object. Returns 0, or not 0 on
 * failure.
 */
static __always_inline int py_state_word(const struct py_walk *w, __u32 offset, __u64 *ret)
{
	if (offset > PY_STATE_READ - 8)
		return py_read(w, ret, 8, w->thread + offset);
	*ret = py_word(w->object, offset);
	return 0;
}

/*
 * Finds the thread's first frame, for py_next_run() or the like. Returns 0 with w->frame set
 * (PY_CHAIN_CFRAME: w->cframe); not 0 if the thread has no Python frames, or w->broken is set.
 */
static __always_inline int py_begin(const struct py_layout *l, struct py_walk *w,
				    __u64 thread_pointer)
{
	__u64 state, id;

	w->frame = w->cframe = w->boundary = w->interp = 0;
	w->broken = 0;
	w->thread = state = py_thread_state(l, w, thread_pointer);
	if (!state)
		return 1;
	/* The key may belong to another library by now, or the state to a thread that has ended. */
	if ((state & 7) || py_read(w, w->object, PY_STATE_READ, state) ||
	    py_state_word(w, l->thread_id, &id) || id != thread_pointer) {
		w->thread = 0;
		return 1;
	}
	if (l->thread_interp && py_state_word(w, l->thread_interp, &w->interp))
		w->interp = 0;
	if (l->chain != PY_CHAIN_CFRAME && py_state_word(w, l->thread_frame, &w->frame))
		goto broken;
	if ((l->chain == PY_CHAIN_CFRAME || l->chain == PY_CHAIN_CFRAME1) &&
	    py_state_word(w, l->thread_cframe, &w->cframe))
		goto broken;
	return 0;
broken:
	w->frame = 0;
	w->broken = 1;
	return 1;
}

/*
 * Returns whether the thread holds the GIL, as enum profile_gil. Must be called after py_begin(). A
 * thread that releases the GIL stays its last holder, so "held" is checked too.
 */
static __always_inline __u32 py_gil(const struct py_layout *l, const struct py_walk *w)
{
	__u64 at = l->runtime, gil[2] = { 0, 0 };

	if (!l->gil_holder)
		return PY_GIL_UNKNOWN;
	if (!w->thread)
		return PY_GIL_NO_THREAD;
	if (l->interp_gil && (!w->interp || py_read(w, &at, 8, w->interp + l->interp_gil)))
		return PY_GIL_UNKNOWN;
	if (py_read(w, gil, 16, at + l->gil_holder))
		return PY_GIL_UNKNOWN;
	return gil[0] == w->thread && (__s32)gil[1] > 0 ? PY_GIL_HELD : PY_GIL_NOT_HELD;
}

/*
 * Reads the CFrame at w->cframe: the first frame of its run, and the CFrame before it. Returns 0 if
 * it was read. The bytes go through w->object, because the BPF stack is small.
 */
static __always_inline int py_read_cframe(const struct py_layout *l, struct py_walk *w,
					  __u64 *ret_frame, __u64 *ret_previous)
{
	__u64 *pair = w->object; /* the two fields are adjacent in all versions */

	if (!w->cframe || (w->cframe & 7) || py_read(w, pair, 16, w->cframe + l->cframe_frame))
		return 1;
	*ret_frame = pair[0];
	*ret_previous = pair[1];
	return 0;
}

/*
 * One step of the search for the end of a run. Returns 0: w->scan is the next frame; 1: this was
 * the last frame, w->boundary is the shim, in versions with shims, and w->scan the first frame of
 * the next run; -1: this is not a frame.
 */
static __always_inline int py_scan_step(const struct py_layout *l, struct py_walk *w)
{
	__u64 at = w->scan;

	if (!at || (at & 7) || py_fetch_frame(w, l->frame_size & 255, at))
		return -1;
	w->scan = py_word(w->words, l->frame_previous);
	if (py_is_shim(l, w)) {
		w->boundary = at;
		return 1;
	}
	return py_is_last(l, w);
}

#endif
