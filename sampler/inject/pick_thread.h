/* Which thread of a process to stop: the order in which a stop disturbs them least. */
#ifndef SPROF_PICK_THREAD_H
#define SPROF_PICK_THREAD_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/inject/x86_64/syscall_restart.h"

#define PICK_MAX_THREADS 256u

struct picked_thread {
	pid_t tid;
	enum inject_rank rank;
};

/* The rank of a thread by what it does just now. */
enum inject_rank pick_thread_rank(pid_t pid, pid_t tid);
/*
 * Fills `picked` (PICK_MAX_THREADS), the least disturbed thread first; returns how many there are.
 */
size_t pick_threads(pid_t pid, struct picked_thread *picked);

#endif
