/*
 * A thread's state begins with the links of the list, and has the thread pointer at thread_id. In
 * glibc's struct pthread the number of the thread follows; the kernel's clone(2) writes it there,
 * also after a fork. With other C libraries the interpreter's own copy, which is next to thread_id
 * from 3.11 on, has to do.
 *
 * Sources: CPython's pycore_runtime.h, pycore_interp.h, pystate.h and pycore_debug_offsets.h.
 */
#include "sampler/runtimes/python/thread_pointers.h"

#include <stdbool.h>

#include "core/portable/glibc_x86_64.h"
#include "sampler/runtimes/python/layout_table.h"

#define MAX_INTERPRETERS 64
#define MAX_THREADS 4096
#define FIRST_DEBUG_MINOR 13
#define FIRST_NATIVE_ID_MINOR 11
#define MAX_OFFSET 65536

/* Words of _Py_DebugOffsets. */
#define DEBUG_INTERPRETERS 5
#define DEBUG_NEXT_INTERPRETER 8
#define DEBUG_THREADS 9

int python_thread_list_fill(struct python_thread_list *ret, const struct py_layout *l,
			    python_read_fn *read, void *context)
{
	static const struct python_thread_list by_minor[] = {
		{ 32, 0, 8, 8 },  /* 3.8 */
		{ 32, 0, 8, 8 },  /* 3.9 */
		{ 32, 0, 8, 8 },  /* 3.10 */
		{ 40, 0, 16, 8 }, /* 3.11 */
		{ 40, 0, 72, 8 }, /* 3.12 */
	};
	unsigned int next_thread = l->minor == FIRST_DEBUG_MINOR ? 21 : 24;
	uint64_t debug[PYTHON_DEBUG_WORDS / 2];

	if (l->minor < PYTHON_MIN_MINOR)
		return -1;
	if (l->minor < FIRST_DEBUG_MINOR) {
		*ret = by_minor[l->minor - PYTHON_MIN_MINOR];
		return 0;
	}
	if (read(context, debug, sizeof(debug), l->runtime) ||
	    (debug[DEBUG_INTERPRETERS] | debug[DEBUG_NEXT_INTERPRETER] | debug[DEBUG_THREADS] |
	     debug[next_thread]) >= MAX_OFFSET)
		return -1;
	*ret = (struct python_thread_list){
		.interpreters = (uint32_t)debug[DEBUG_INTERPRETERS],
		.next_interpreter = (uint32_t)debug[DEBUG_NEXT_INTERPRETER],
		.threads = (uint32_t)debug[DEBUG_THREADS],
		.next_thread = (uint32_t)debug[next_thread],
	};
	return 0;
}

int python_thread_pointer_is(uint64_t at, int32_t tid, python_read_fn *read, void *context)
{
	uint64_t self;
	int32_t found;

	return !(at & 7) && !read(context, &self, 8, at + GLIBC_PTHREAD_SELF) && self == at &&
	       !read(context, &found, 4, at + GLIBC_PTHREAD_TID) && found == tid;
}

/* Is this the state of that thread? *ret_pointer is its thread pointer. */
static bool is_state_of(uint64_t state, const struct py_layout *l, int32_t tid,
			python_read_fn *read, void *context, uint64_t *ret_pointer)
{
	uint64_t words[2]; /* thread_id, and from 3.11 on native_thread_id */

	if (read(context, words, sizeof(words), state + l->thread_id))
		return false;
	*ret_pointer = words[0];
	return words[0] && (python_thread_pointer_is(words[0], tid, read, context) ||
			    (l->minor >= FIRST_NATIVE_ID_MINOR && words[1] == (uint32_t)tid));
}

uint64_t python_thread_pointer(const struct python_thread_list *list, const struct py_layout *l,
			       int32_t tid, python_read_fn *read, void *context)
{
	uint64_t interp, state, pointer;
	int nr_threads = 0;

	if (read(context, &interp, 8, l->runtime + list->interpreters))
		return 0;
	for (int i = 0; i < MAX_INTERPRETERS && interp; i++) {
		if ((interp & 7) || read(context, &state, 8, interp + list->threads))
			return 0;
		for (; state && !(state & 7) && nr_threads < MAX_THREADS; nr_threads++) {
			if (is_state_of(state, l, tid, read, context, &pointer))
				return pointer;
			if (read(context, &state, 8, state + list->next_thread))
				return 0;
		}
		if (read(context, &interp, 8, interp + list->next_interpreter))
			return 0;
	}
	return 0;
}
