/*
 * The stacks of all threads of a process at this moment, also of those that wait: each thread is
 * stopped in its turn, its registers, its stack and its Python frames are copied, and it goes on;
 * unwinding happens afterwards.
 */
#ifndef SPROF_DUMP_H
#define SPROF_DUMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/profile.h"
#include "sampler/runtimes/python/tasks.h"

#define DUMP_STOP_MS 10u  /* reading a thread that is stopped takes no longer than this */
#define DUMP_WAIT_MS 500u /* how long it may take to stop: on a busy machine it waits for a CPU */

struct dump_thread {
	pid_t tid;
	char name[16];
	char state;	   /* as in /proc/PID/stat, before it was stopped: R S D T t Z ... */
	char waits_in[64]; /* the kernel function that it sleeps in; "" = unknown, or it runs */
	int error;	/* 0, or -errno: why there is no stack; -EBUSY: it could not be stopped */
	uint32_t stack; /* of the profile, PROFILE_NONE with an error */
	uint64_t stopped_ns; /* how long we held it */
};

/* An asyncio task. */
struct dump_task {
	const char *name;
	pid_t tid; /* of the thread whose loop it belongs to */
	enum python_task_state state;
	uint32_t stack;		  /* where it is suspended, or PROFILE_NONE */
	const uint64_t *awaiters; /* indices of the tasks that wait for it */
	size_t nr_awaiters;
};

struct dump {
	struct profile *profile;     /* frames and stacks; no samples. To be symbolized. */
	struct dump_thread *threads; /* by number; the first one first */
	size_t nr_threads;
	struct dump_task *tasks;
	size_t nr_tasks;
	size_t nr_unread_tasks; /* more of them, for which there was no time */
	char python[128];	/* why Python frames are missing, "" = they are not */
	struct dump_state *state;
};

/*
 * Takes a dump of the process. 0, or -errno and the reason in words, with the command that fixes it
 * in hint[] ("" where none does).
 */
int dump_new(pid_t pid, struct dump **ret_dump, char *why, size_t why_size, char *hint,
	     size_t hint_size);
void dump_free(struct dump *dump); /* NULL is fine */

/* The file behind a module of the profile; symbolizer_opts.open_module, context is the dump. */
int dump_open_module(void *dump, uint32_t module);

#endif
