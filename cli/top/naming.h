/*
 * Names for the frames of a live profile, while samples go on coming. They are looked up in a
 * thread of their own, as those of a large program can take seconds; the thread that samples opens
 * the files.
 */
#ifndef SPROF_NAMING_H
#define SPROF_NAMING_H

#include <stdbool.h>

struct debuginfod;
struct live;
struct naming;
struct recorder;

/* `done` is called by the other thread after each round. */
struct naming *naming_new(struct live *live, struct recorder *recorder, struct debuginfod *servers,
			  void (*done)(void *context), void *context);
/* Waits for the round that is under way. NULL is fine. */
void naming_free(struct naming *n);

/* Begins a round if there is something to name and it is time for it. */
void naming_poll(struct naming *n);
/* Names all that has none yet, and returns when that is done. */
void naming_finish(struct naming *n);

#endif
