/*
 * What the targets start: children that do not come by themselves are reached through their library
 * or by ptrace, and those that cannot be reached are reported at the end. The same for a process
 * that becomes another program by exec.
 */
#ifndef SPROF_FOLLOW_H
#define SPROF_FOLLOW_H

#include <sys/types.h>

struct timer_follow;
struct timer_processes;
struct timer_wake;

/* Both must outlive it. */
struct timer_follow *timer_follow_new(struct timer_processes *processes, struct timer_wake *wake);
void timer_follow_free(struct timer_follow *follow); /* NULL is fine */

/* Does not follow the children that a process has now: they were not asked for. */
void timer_follow_spare(struct timer_follow *follow, pid_t pid);
/* Once in a round. */
void timer_follow_poll(struct timer_follow *follow);
/* The recording ends: reports what was not sampled. */
void timer_follow_end(struct timer_follow *follow);

#endif
