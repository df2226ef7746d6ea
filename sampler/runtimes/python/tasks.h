/*
 * The asyncio tasks of a thread and the functions that each is suspended in: a waiting task is on
 * no thread's stack. They are read while the thread, the only one that changes them, is stopped.
 */
#ifndef SPROF_TASKS_H
#define SPROF_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct asyncio_layout;
struct python_block;
struct python_reader;

enum python_task_state {
	PYTHON_TASK_CREATED,   /* has not run yet */
	PYTHON_TASK_SUSPENDED, /* waits, or is ready and has not continued yet */
	PYTHON_TASK_RUNNING,   /* its functions are on the thread's stack */
	PYTHON_TASK_ENDED,
};

struct python_task {
	uint64_t address;
	pid_t tid;
	enum python_task_state state;
	char *name;
	size_t first_frame, nr_frames; /* FRAME_PYTHON words, innermost first */
	size_t first_awaiter, nr_awaiters;
};

struct python_tasks {
	struct python_task *tasks;
	uint64_t *frames;
	uint64_t *awaiters; /* addresses of tasks; after python_tasks_link() their indices */
	size_t nr, nr_frames, nr_awaiters;
	size_t capacity, frames_capacity, awaiters_capacity;
	size_t nr_unread; /* at least so many were left out for lack of time */
	struct python_block *blocks;
};

void python_tasks_init(struct python_tasks *tasks);
/*
 * Adds the tasks of the thread with that PyThreadState. At `deadline_ns` (CLOCK_MONOTONIC) it keeps
 * what was read and counts the rest in nr_unread.
 */
void python_tasks_add(struct python_tasks *tasks, const struct asyncio_layout *layout,
		      struct python_reader *reader, uint64_t thread_state, pid_t tid,
		      uint64_t deadline_ns);
/* Removes the tasks of a thread, which were the last to be added. */
void python_tasks_drop(struct python_tasks *tasks, pid_t tid);
/* To be called when all are added: turns awaiters into indices, and drops unknown ones. */
void python_tasks_link(struct python_tasks *tasks);
void python_tasks_fini(struct python_tasks *tasks);

#endif
