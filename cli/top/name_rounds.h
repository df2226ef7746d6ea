/*
 * Names for the frames of a live profile, while samples go on coming. They are looked up in a
 * thread of their own, as those of a large program can take seconds; the thread that samples opens
 * the files.
 */
#ifndef SPROF_NAME_ROUNDS_H
#define SPROF_NAME_ROUNDS_H

#include <stdbool.h>

struct debuginfod;
struct live;
struct name_rounds;
struct recorder;

/* `done` is called by the other thread after each round. */
struct name_rounds *name_rounds_new(struct live *live, struct recorder *recorder,
				    struct debuginfod *servers, void (*done)(void *context),
				    void *context);
/* Waits for the round that is under way. NULL is fine. */
void name_rounds_free(struct name_rounds *n);

/* Begins a round if there is something to name and it is time for it. */
void name_rounds_poll(struct name_rounds *n);
/* Names all that has none yet, and returns when that is done. */
void name_rounds_finish(struct name_rounds *n);

#endif
