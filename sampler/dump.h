/*
 * The stacks of all threads of a process at this moment, running and waiting ones, and its asyncio
 * tasks. Threads are stopped one after the other, for some ms each at most, and only while they are
 * copied.
 */
#ifndef SPROF_DUMP_H
#define SPROF_DUMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/profile.h"
#include "sampler/runtimes/python/tasks.h"

#define DUMP_STOP_MS 10u  /* a stopped thread is read for no longer than this */
#define DUMP_WAIT_MS 500u /* for a thread to stop: on a busy machine it needs a CPU first */

struct sandbox;

struct dump_thread {
	pid_t tid;
	char name[16];
	char state;	     /* as in /proc/PID/stat, before it was stopped: R S D T t Z ... */
	char waits_in[64];   /* the kernel function in which it sleeps; "": not known, or it runs */
	char waits_for[320]; /* thread_wait_describe(); "": not known, or it runs */
	int error;	     /* 0, or the -errno of taking its stack; -EBUSY: it did not stop */
	uint32_t stack;	     /* in the profile; PROFILE_NONE after an error */
	uint64_t stopped_ns; /* how long it was stopped */
};

/* An asyncio task. */
struct dump_task {
	const char *name;
	pid_t tid; /* of the thread whose loop it belongs to */
	enum python_task_state state;
	uint32_t stack;		  /* where it is suspended; PROFILE_NONE: not known */
	const uint64_t *awaiters; /* indices of the tasks that wait for it */
	size_t nr_awaiters;
};

struct dump {
	struct profile *profile;     /* frames, not yet named, and stacks; no samples */
	struct dump_thread *threads; /* by tid */
	size_t nr_threads;
	struct dump_task *tasks;
	size_t nr_tasks;
	size_t nr_unread_tasks; /* further tasks that there was no time to read */
	char python[128];	/* why Python frames are missing; "": they are not */
	struct dump_state *state;
};

/*
 * Takes a dump of the process, whose files are read in the sandbox (NULL: here), which must outlive
 * the dump. 0, or -errno with the reason in why[] and the command that fixes it in hint[] ("" where
 * no command does).
 */
int dump_new(pid_t pid, const struct sandbox *sandbox, struct dump **ret_dump, char *why,
	     size_t why_size, char *hint, size_t hint_size);
void dump_free(struct dump *dump); /* NULL is fine */

/*
 * Opens the file behind a module of the profile, as symbolizer_opts.open_module; `dump` is a struct
 * dump.
 */
int dump_open_module(void *dump, uint32_t module);
/* The same for symbolizer_opts.open_root. */
int dump_open_root(void *dump, uint32_t module, size_t *ret_prefix);

#endif
