/*
 * The reasons of waits, as the frames of their stacks say: stacks by reason, and two reasons
 * that only the functions above tell, the GIL and a GPU.
 */
#ifndef SPROF_REASONS_H
#define SPROF_REASONS_H

#include <stdbool.h>

struct profile;

/* Does any stack say what a thread waited for? */
bool reasons_known(const struct profile *p);

/*
 * Waits for Python's GIL and for a GPU get reasons of their own: "GIL wait" and "GPU wait" instead
 * of the lock, poll or sleep that they are made of.
 */
void reasons_refine(struct profile *p);

/* Each stack becomes one frame: its reason, or "running". */
void reasons_replace(struct profile *p);
/* Puts its reason, or "running", at the root of each stack. */
void reasons_add_root(struct profile *p);

/* The frame is the lock that a wait was for, "GIL", "unknown lock", or "no lock". */
void locks_replace(struct profile *p);
void locks_add_root(struct profile *p);

#endif
