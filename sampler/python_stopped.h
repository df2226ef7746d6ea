/*
 * The Python frames of a thread that is stopped, read from outside: the walk of core/pyframes.h in
 * user space. While the thread is stopped its frames and their code objects stay what they are.
 */
#ifndef SPROF_PYTHON_STOPPED_H
#define SPROF_PYTHON_STOPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/python_merge.h"

struct process;
struct py_layout;
struct python_codes;

/*
 * Looks among the mappings of a process for a CPython: its layout, at the addresses of the process.
 * false: it runs none, or one that is not known; then *why says which check failed ("" where there
 * is no interpreter).
 */
bool python_find(const struct process *process, struct py_layout *ret_layout, char *why,
		 size_t why_size);

struct python_stopped {
	struct python_runs runs; /* for python_merge(); runs.words is `words` */
	bool broken;		 /* there are frames that could not be read */
	size_t max_words;
	uint64_t words[];
};

struct python_stopped *python_stopped_new(size_t max_words);

/*
 * Reads the frames of the thread whose thread pointer (fs base) is given, and puts their code objects
 * into `codes` under numbers from *next_id on, which is moved. Stops reading at `deadline_ns`
 * (CLOCK_MONOTONIC), with `broken` set: the target waits.
 */
void python_stopped_walk(struct python_stopped *stopped, pid_t pid, const struct py_layout *layout,
			 uint64_t thread_pointer, uint64_t deadline_ns, struct python_codes *codes,
			 uint64_t *next_id);

#endif
