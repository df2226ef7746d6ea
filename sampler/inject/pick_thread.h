/* Which thread of a process to stop: the order by how little it would notice. */
#ifndef SPROF_PICK_THREAD_H
#define SPROF_PICK_THREAD_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/inject/x86_64/syscall_restart.h"

#define INJECT_MAX_CHOICES 256u

struct inject_choice {
	pid_t tid;
	enum inject_rank rank;
};

/* A thread by what it does just now. */
enum inject_rank inject_choice_rank(pid_t pid, pid_t tid);
/* Fills `choices` (INJECT_MAX_CHOICES), best first; returns how many there are. */
size_t inject_choose(pid_t pid, struct inject_choice *choices);

#endif
