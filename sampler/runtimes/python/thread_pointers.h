/*
 * Finds the thread pointer of a thread that is known by its number alone: the interpreter lists the
 * states of its threads, and each says where its thread's data (struct pthread) is, which holds the
 * number. No allocation and no log, for processes that make system calls only.
 */
#ifndef SPROF_THREAD_POINTERS_H
#define SPROF_THREAD_POINTERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/pylayout.h"

/* Where an interpreter keeps the list of its threads: offsets in bytes. */
struct python_thread_list {
	uint32_t interpreters;	   /* in _PyRuntime */
	uint32_t next_interpreter; /* in an interpreter */
	uint32_t threads;	   /* in an interpreter */
	uint32_t next_thread;	   /* in the state of a thread */
};

/* Reads memory of the target: 0, or not 0 where it cannot be read. */
typedef int python_read_fn(void *context, void *to, uint32_t size, uint64_t address);

/* 0, or -1 where the interpreter's description of itself cannot be right. */
int python_thread_list_fill(struct python_thread_list *ret_list, const struct py_layout *layout,
			    python_read_fn *read, void *context);

/*
 * Returns the thread pointer of the thread with that number in its own PID namespace; 0: it has no
 * state in an interpreter.
 */
uint64_t python_thread_pointer(const struct python_thread_list *list,
			       const struct py_layout *layout, int32_t tid, python_read_fn *read,
			       void *context);
/* Is it still the thread pointer of that thread? Reads what the search compared. */
int python_thread_pointer_is(uint64_t thread_pointer, int32_t tid, python_read_fn *read,
			     void *context);

#endif
