/*
 * The timer source and what its targets start: children that do not come by themselves are reached, or
 * said at the end.
 */
#ifndef SPROF_FOLLOW_H
#define SPROF_FOLLOW_H

#include <stdint.h>
#include <sys/types.h>

struct source;
struct timer_follow;

struct timer_follow *timer_follow_new(void);
void timer_follow_free(struct timer_follow *follow); /* NULL is fine */

/* Children that a process has now are not followed: nobody asked for them. */
void timer_follow_spare(struct source *s, pid_t pid);
/* Once in a round. */
void timer_follow_tend(struct source *s);
/* The recording ends: says whom it missed. */
void timer_follow_end(struct source *s);

/* A number for the program that a process runs now, another one after exec(2). 0: not known. */
uint64_t timer_follow_program(pid_t pid);

#endif
