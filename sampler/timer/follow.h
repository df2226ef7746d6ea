/*
 * What the targets start: children that do not come by themselves are reached through their library
 * or by ptrace, and those that cannot be reached are reported at the end. The same for a process
 * that becomes another program by exec.
 */
#ifndef SPROF_FOLLOW_H
#define SPROF_FOLLOW_H

#include <stdbool.h>

struct members;
struct process_tree;
struct timer_follow;
struct timer_processes;
struct timer_wake;

/*
 * All must outlive it; `members` may be NULL. no_children: only programs that targets become by
 * exec are followed.
 */
struct timer_follow *timer_follow_new(struct timer_processes *processes, struct timer_wake *wake,
				      struct members *members, bool no_children);
void timer_follow_free(struct timer_follow *follow); /* NULL is fine */

/*
 * What these processes have started already, and the members that there are, are followed too:
 * those that have used the most CPU time are attached to at once, the others as soon as they use
 * some.
 */
void timer_follow_begin(struct timer_follow *follow, struct process_tree *tree);
/* Once in a round. */
void timer_follow_poll(struct timer_follow *follow);
/* The recording ends: reports what was not sampled. */
void timer_follow_end(struct timer_follow *follow);

#endif
