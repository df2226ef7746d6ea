/*
 * The table was made by compiling offsetof() against the headers of each version. All are x86-64
 * release builds, where a configuration changes nothing but the size of the object header.
 */
#include "sampler/runtimes/python/layout_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NR_MINORS (PYTHON_MAX_MINOR - PYTHON_MIN_MINOR + 1)
/* Py_GIL_DISABLED: the object header has a thread, a mutex and two counts. */
#define FREE_THREADED_EXTRA 16

static const struct py_layout by_minor[NR_MINORS] = {
	/* 3.8 */
	{ .chain = PY_CHAIN_EVAL,
	  .position = PY_POSITION_BYTES,
	  .tss_key = 1392,
	  .gil_holder = 1160,
	  .thread_id = 176,
	  .thread_frame = 24,
	  .frame_previous = 24,
	  .frame_code = 32,
	  .frame_position = 104,
	  .frame_size = 112,
	  .code_filename = 104,
	  .code_name = 112,
	  .code_firstline = 40,
	  .code_linetable = 120 },
	/* 3.9 */
	{ .chain = PY_CHAIN_EVAL,
	  .position = PY_POSITION_BYTES,
	  .tss_key = 584,
	  .gil_holder = 360,
	  .thread_id = 176,
	  .thread_frame = 24,
	  .frame_previous = 24,
	  .frame_code = 32,
	  .frame_position = 104,
	  .frame_size = 112,
	  .code_filename = 104,
	  .code_name = 112,
	  .code_firstline = 40,
	  .code_linetable = 120 },
	/* 3.10 */
	{ .chain = PY_CHAIN_CFRAME1,
	  .position = PY_POSITION_UNITS,
	  .tss_key = 584,
	  .gil_holder = 360,
	  .thread_id = 176,
	  .thread_frame = 24,
	  .thread_cframe = 48,
	  .cframe_previous = 8,
	  .frame_previous = 24,
	  .frame_code = 32,
	  .frame_position = 96,
	  .frame_size = 104,
	  .code_filename = 104,
	  .code_name = 112,
	  .code_firstline = 40,
	  .code_linetable = 120 },
	/* 3.11 */
	{ .chain = PY_CHAIN_CFRAME,
	  .position = PY_POSITION_POINTER,
	  .tss_key = 592,
	  .gil_holder = 368,
	  .entry_flag = 68,
	  .thread_id = 152,
	  .thread_cframe = 56,
	  .cframe_frame = 8,
	  .cframe_previous = 16,
	  .frame_previous = 48,
	  .frame_code = 32,
	  .frame_position = 56,
	  .frame_owner = 69,
	  .frame_size = 72,
	  .function_version = 128,
	  .code_filename = 112,
	  .code_name = 128,
	  .code_firstline = 72,
	  .code_linetable = 136,
	  .code_first = 184 },
	/* 3.12 */
	{ .chain = PY_CHAIN_CFRAME,
	  .position = PY_POSITION_POINTER,
	  .tss_key = 1544,
	  .gil_holder = 8,
	  .thread_interp = 16,
	  .interp_gil = 384,
	  .shim_owner = 3,
	  .thread_id = 136,
	  .thread_cframe = 56,
	  .cframe_previous = 8,
	  .frame_previous = 8,
	  .frame_position = 56,
	  .frame_owner = 70,
	  .frame_size = 72,
	  .code_filename = 112,
	  .code_name = 128,
	  .code_firstline = 68,
	  .code_linetable = 136,
	  .code_first = 192 },
	/* 3.13: from here on the rest is filled in from _Py_DebugOffsets */
	{ .chain = PY_CHAIN_SHIM,
	  .position = PY_POSITION_POINTER,
	  .tss_key = 2160,
	  .shim_owner = 3 },
	/* 3.14 */
	{ .chain = PY_CHAIN_SHIM,
	  .position = PY_POSITION_POINTER,
	  .tss_key = 2336,
	  .shim_owner = 3,
	  .stackref = 1 },
	/* 3.15 */
	{ .chain = PY_CHAIN_SHIM, .position = PY_POSITION_POINTER, .shim_owner = 3, .stackref = 1 },
};

/* Indices of words in _Py_DebugOffsets: each version inserted new ones. */
struct debug_words {
	uint8_t thread_frame, thread_id;
	uint8_t frame_previous, frame_code, frame_position, frame_owner;
	uint8_t code_filename, code_qualname, code_linetable, code_firstline, code_first;
	uint8_t thread_interp, interp_gil, own_gil, own_gil_locked, own_gil_holder;
	uint8_t frame_copy, code_copies;
};

static const struct debug_words words_by_minor[] = {
	{ 23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 22, 14, 15, 17, 18, 0, 0 },   /* 3.13 */
	{ 26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 25, 15, 16, 18, 19, 38, 49 }, /* 3.14 */
	{ 26, 30, 40, 41, 42, 44, 48, 50, 51, 52, 56, 25, 15, 16, 18, 19, 46, 57 }, /* 3.15 */
};

#define FIRST_DEBUG_MINOR 13
#define DEBUG_INTERP_SIZE 6		   /* the word with the size of PyInterpreterState */
#define DEBUG_COOKIE 0x7970677562656478ull /* "xdebugpy" */

static void fill_strings(struct py_layout *l, unsigned int minor, bool free_threaded)
{
	unsigned int extra = free_threaded ? FREE_THREADED_EXTRA : 0;

	l->object_type = 8 + extra;
	l->string_header = 16 + extra;
	l->string_ascii = (minor < 12 ? 48 : 40) + extra;
	l->string_compact = (minor < 12 ? 72 : 56) + extra;
	l->bytes_size = 16 + extra;
	l->bytes_data = 32 + extra;
	l->string_kind_shift = free_threaded && minor >= 14 ? 8 : 2;
}

static bool take(const uint64_t *debug, uint8_t word, uint16_t limit, uint16_t *ret_offset)
{
	*ret_offset = (uint16_t)debug[word];
	return debug[word] < limit;
}

/* Fills in the GIL if what is said of it is consistent. Builds without a GIL describe one too. */
static void fill_gil(struct py_layout *l, const struct debug_words *w, const uint64_t *debug)
{
	uint64_t holder = debug[w->own_gil_holder] - debug[w->own_gil];

	if (debug[2] || holder > 64 || (holder | debug[w->interp_gil]) & 7 ||
	    debug[w->own_gil_locked] - debug[w->own_gil_holder] != 8 ||
	    !take(debug, w->thread_interp, 4096, &l->thread_interp) ||
	    !take(debug, w->interp_gil, 65535, &l->interp_gil) || !l->interp_gil)
		return;
	l->gil_holder = (uint16_t)holder;
}

/*
 * Where an interpreter counts its code objects (PyInterpreterState.func_state.next_version), for
 * the versions whose headers were read: the interpreter's size must be within theirs. Not for
 * free-threaded builds, where two threads that count at the same time may count one.
 */
static void fill_versions(struct py_layout *l, unsigned int minor, const uint64_t *debug)
{
	static const struct {
		uint8_t minor, free_threaded;
		uint32_t least_size, most_size;
		uint16_t offset;
	} known[] = {
		{ 13, 0, 194968, 194984, 17000 }, /* 3.13.0 to 3.13.18 */
		{ 14, 0, 225864, 225864, 14256 }, /* 3.14.7 and 3.14.10 */
		{ 15, 0, 226224, 226240, 14264 }, /* 3.15.0rc1 and 3.15.2 */
	};
	uint64_t size = debug[DEBUG_INTERP_SIZE];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].minor == minor && known[i].free_threaded == debug[2] &&
		    size >= known[i].least_size && size <= known[i].most_size && l->thread_interp)
			l->interp_versions = known[i].offset;
}

static int fill_from_debug(struct py_layout *l, unsigned int minor, const uint64_t *debug,
			   char *why, size_t why_size)
{
	unsigned int known = minor < PYTHON_MAX_MINOR ? minor : PYTHON_MAX_MINOR;
	const struct debug_words *w = &words_by_minor[known - FIRST_DEBUG_MINOR];

	if (debug[0] != DEBUG_COOKIE) {
		snprintf(why, why_size, "_PyRuntime does not begin with _Py_DebugOffsets");
		return -1;
	}
	if (debug[1] >> 24 != 3 || (debug[1] >> 16 & 0xff) != minor || debug[2] > 1) {
		snprintf(why, why_size, "_Py_DebugOffsets says another version");
		return -1;
	}
	/* Reads have at most 256 bytes; a thread's state is larger and read in words. */
	if (!take(debug, w->thread_frame, 4096, &l->thread_frame) ||
	    !take(debug, w->thread_id, 4096, &l->thread_id) ||
	    !take(debug, w->frame_previous, 120, &l->frame_previous) ||
	    !take(debug, w->frame_code, 120, &l->frame_code) ||
	    !take(debug, w->frame_position, 120, &l->frame_position) ||
	    !take(debug, w->frame_owner, 120, &l->frame_owner) ||
	    !take(debug, w->code_filename, 240, &l->code_filename) ||
	    !take(debug, w->code_qualname, 240, &l->code_name) ||
	    !take(debug, w->code_linetable, 240, &l->code_linetable) ||
	    !take(debug, w->code_firstline, 240, &l->code_firstline) ||
	    !take(debug, w->code_first, 1024, &l->code_first) ||
	    (l->free_threaded && w->code_copies &&
	     (!take(debug, w->frame_copy, 120, &l->frame_copy) ||
	      !take(debug, w->code_copies, 240, &l->code_copies) || !l->code_copies))) {
		snprintf(why, why_size, "_Py_DebugOffsets has offsets that cannot be");
		return -1;
	}
	if ((l->frame_previous | l->frame_code | l->frame_position | l->code_filename |
	     l->code_name | l->code_linetable | l->code_copies) &
	    7) {
		snprintf(why, why_size, "_Py_DebugOffsets has pointers that are not aligned");
		return -1;
	}
	l->frame_size = (l->frame_owner | 7) + 1;
	if (l->code_copies && (l->frame_copy | 7) + 1 > l->frame_size)
		l->frame_size = (l->frame_copy | 7) + 1;
	fill_gil(l, w, debug);
	fill_versions(l, minor, debug);
	return 0;
}

int python_layout_fill(struct py_layout *ret, unsigned int minor, const uint64_t *debug, char *why,
		       size_t why_size)
{
	unsigned int known = minor < PYTHON_MAX_MINOR ? minor : PYTHON_MAX_MINOR;
	bool free_threaded = minor >= FIRST_DEBUG_MINOR && debug[2] == 1;
	struct py_layout l;

	if (minor < PYTHON_MIN_MINOR) {
		snprintf(why, why_size, "CPython 3.%u is older than 3.%d", minor, PYTHON_MIN_MINOR);
		return -1;
	}
	l = by_minor[known - PYTHON_MIN_MINOR];
	l.minor = (uint8_t)minor;
	l.free_threaded = free_threaded;
	fill_strings(&l, minor, free_threaded);
	if (minor >= FIRST_DEBUG_MINOR && fill_from_debug(&l, minor, debug, why, why_size))
		return -1;
	/* The version follows in the same group of ints; its place in later CPythons is unknown. */
	if (minor >= 12 && minor <= PYTHON_MAX_MINOR)
		l.code_version = l.code_firstline + 24;
	l.code_size = (l.code_linetable > l.code_name ? l.code_linetable : l.code_name) + 8;
	if (l.code_copies + 8 > l.code_size)
		l.code_size = l.code_copies + 8;
	*ret = l;
	return 0;
}
