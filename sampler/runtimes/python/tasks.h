/*
 * The asyncio tasks of a thread, with the functions that each is suspended in: a task that waits is on
 * no thread's stack. Read while the thread is stopped, which is the only one that changes them.
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
	PYTHON_TASK_SUSPENDED, /* waits, or could go on and did not yet */
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
	size_t nr_unread; /* there was no time for these, at least */
	struct python_block *blocks;
};

void python_tasks_init(struct python_tasks *tasks);
/*
 * Adds the tasks of the thread with that PyThreadState. What has been read when `deadline_ns`
 * (CLOCK_MONOTONIC) comes counts, and what is left is counted.
 */
void python_tasks_add(struct python_tasks *tasks, const struct asyncio_layout *layout,
		      struct python_reader *reader, uint64_t thread_state, pid_t tid,
		      uint64_t deadline_ns);
/* Forgets the tasks of a thread that were added last. */
void python_tasks_drop(struct python_tasks *tasks, pid_t tid);
/* When all have been added: who awaits whom, of those that are here. */
void python_tasks_link(struct python_tasks *tasks);
void python_tasks_fini(struct python_tasks *tasks);

#endif
