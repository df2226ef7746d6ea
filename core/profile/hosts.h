/*
 * Processes of several hosts in one profile, as a folder has them into which several hosts record:
 * equal pids of two hosts are two processes. A process is a number of 64 bits, host and pid, in
 * facts (FIELD_PID) too; its low half is the pid, and its high half is 0 on the first host.
 */
#ifndef SPROF_HOSTS_H
#define SPROF_HOSTS_H

#include <stdint.h>

#include "core/profile/profile.h"

/* What Linux gives is below: numbers for processes whose own is taken. */
#define FIRST_OTHER_PID (1u << 22)

static inline uint64_t hosts_process(const struct profile_thread *thread)
{
	return (uint64_t)thread->host << 32 | thread->pid;
}

/* The host of a process; "" where it is not known. */
const char *hosts_name(const struct profile *p, uint64_t process);
/* The same, to be put behind the process; "" in a profile of one host, which need not be said. */
const char *hosts_suffix(const struct profile *p, uint64_t process);
/* What stands before a suffix. */
static inline const char *hosts_joint(const char *suffix)
{
	return *suffix ? " on " : "";
}

/*
 * By thread, a number for its process that no process of another host has: the pid of the one that
 * comes first, and FIRST_OTHER_PID and on for the others. The caller frees the array.
 */
uint32_t *hosts_numbers(const struct profile *p);

#endif
