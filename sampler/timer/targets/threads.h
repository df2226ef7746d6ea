/*
 * The threads of one process that is sampled: which there are, the slots for their timers in the
 * region, and their names. Threads are numbered as the target numbers them; /proc numbers them as
 * we do, which differs where the target lives in another PID namespace.
 */
#ifndef SPROF_THREADS_H
#define SPROF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/hash_table.h"
#include "core/portable/frames.h"

struct timer_process;

struct timer_thread {
	pid_t tid;	      /* the target's number of it */
	pid_t outer;	      /* our number of it */
	char comm[COMM_SIZE]; /* filled with NUL */
	uint64_t known_ns;    /* when it was first seen */
	uint64_t comm_due_ns; /* when its name is to be read again */
	uint32_t last_stack; /* the sink's id of the stack of its last sample; PROFILE_NONE: none */
	uint8_t last_gil;    /* of that sample: enum profile_gil */
	uint64_t awaited;    /* the module whose table its last sample waits for; 0: for none */
	UT_hash_handle hh;
};

/*
 * A process has at most so many entries more than it had threads at once: those of threads that
 * have ended, and of threads that it has invented.
 */
#define TIMER_MAX_ENDED 1024

struct timer_number {
	pid_t outer, inner;
};

/* A part of struct timer_process, written by threads.c and thread_numbers.c only. */
struct timer_threads {
	struct timer_thread *table;
	bool renumbers;		      /* the process lives in another PID namespace */
	struct timer_number *numbers; /* if so: of its threads, sorted by ours */
	size_t nr_numbers;
	pid_t *tids; /* living threads as of the last poll, sorted */
	size_t nr_tids, tids_capacity;
	size_t most_threads; /* that were listed at once */
	uint64_t next_poll_ns;
	uint64_t blocked_ns; /* when threads that block our signal were last looked for */
	pid_t blocked;	     /* one that did then, or 0 */
	bool blocked_said;
};

void timer_threads_init(struct timer_process *p, uint64_t first_poll_ns);
void timer_threads_fini(struct timer_process *p);

/*
 * A thread, which need not be known yet; its name is up to date. Valid until the next call for the
 * process.
 */
struct timer_thread *timer_thread(struct timer_process *p, pid_t tid);
/*
 * A new process may still change its name: reads the name again. Returns when that is due the next
 * time; UINT64_MAX: the process is old enough to keep its name.
 */
uint64_t timer_threads_poll_name(struct timer_process *p, uint64_t now_ns);
/* Asks for a timer for each thread. Returns how many have none because there is no slot left. */
size_t timer_threads_want(struct timer_process *p);
/*
 * When it is due: asks for timers for new threads, unless `stopping`, and deletes the timers of
 * threads that have ended. *ret_nr_limits as timer_threads_want() returns it. false: the process
 * has ended.
 */
bool timer_threads_poll(struct timer_process *p, uint64_t now_ns, bool stopping,
			size_t *ret_nr_limits);

/* thread_numbers.c */

/* Does the process have another number for itself than we have? */
bool timer_numbers_differ(pid_t pid);
/* Turns the tids from our numbers into the target's, unsorted. */
void timer_renumber(struct timer_threads *threads);
/* Our number of a thread. */
pid_t timer_outer(const struct timer_threads *threads, pid_t tid);

#endif
