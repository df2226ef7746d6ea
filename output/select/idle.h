/*
 * Idle waits: a thread that waits for the next piece of work, in accept(), in its event loop or in
 * a worker's queue. Nothing that the program does depends on such a wait, and there are so many of
 * them that they hide the others. They are folded away: removed, and counted in profile.idle.
 */
#ifndef SPROF_IDLE_H
#define SPROF_IDLE_H

#include <stdbool.h>
#include <stddef.h>

struct idle;
struct profile;

struct idle *idle_new(void);
void idle_free(struct idle *idle); /* NULL is fine */

/* Turns folding off. */
void idle_show(struct idle *idle);

/*
 * Functions that match are loops too, in which waits for work are idle. `text` is as in
 * pattern_init(). 0, or -EINVAL or -E2BIG with the reason in why[].
 */
int idle_add_loop(struct idle *idle, const char *text, char *why, size_t why_size);

/* Folds the idle waits of a profile; `idle` NULL: the known loops alone. */
void idle_fold(struct profile *p, const struct idle *idle);

#endif
