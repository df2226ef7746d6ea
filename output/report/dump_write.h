/*
 * The stacks of a process's threads at one moment, as text and as JSON. The innermost frame comes
 * first: it is what the thread does now.
 */
#ifndef SPROF_DUMP_WRITE_H
#define SPROF_DUMP_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;

struct dump_row {
	const struct profile *profile; /* with names */
	int32_t tid;
	const char *name;
	const char *waits_for; /* "lock wait, futex at 0x7f12"; "" = not known, or it runs */
	const char *doing; /* "running", "sleeping in do_epoll_wait", or why there is no stack */
	bool has_stack;
	uint32_t stack;
	uint64_t stopped_ns;
};

/* An asyncio task. */
struct dump_task_row {
	const struct profile *profile;
	const char *name;
	int32_t tid;
	const char *state; /* "suspended" */
	bool has_stack;
	uint32_t stack;
	const char *const *awaited_by; /* names of tasks */
	size_t nr_awaited_by;
};

struct dump_write_opts {
	bool python_only; /* leave out frames that are not Python, and threads without Python */
	bool color, unicode;
	size_t columns; /* names and paths are cut to lines of this width; 0 = they are not */
};

void dump_write_row(struct buffer *b, const struct dump_row *row,
		    const struct dump_write_opts *opts);
void dump_write_task(struct buffer *b, const struct dump_task_row *row,
		     const struct dump_write_opts *opts);
/* Writes one object of the JSON that the caller puts together. */
void dump_write_json(struct buffer *b, const struct dump_row *row);
void dump_write_task_json(struct buffer *b, const struct dump_task_row *row);

#endif
