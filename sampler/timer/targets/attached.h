/*
 * The payload in a process that did not load libsprof.so: put in and taken out through
 * sampler/attach/. A process that loaded the library has none of this.
 */
#ifndef SPROF_ATTACHED_H
#define SPROF_ATTACHED_H

#include <stdbool.h>

struct attach;
struct inject_reason;
struct timer_process;

/* A part of struct timer_process, written by attached.c only. */
struct timer_attached {
	struct attach *attach; /* NULL: no payload is in it now */
	bool was_attached;
};

/*
 * Puts the payload into the process, with its region and the arena behind `arena_fd`. 0, or -errno
 * and the reason as attach_begin().
 */
int timer_attached_begin(struct timer_process *p, int arena_fd, struct inject_reason *reason);
/* Takes it out, if it is in. Warns where something had to stay. */
void timer_attached_end(struct timer_process *p);

#endif
