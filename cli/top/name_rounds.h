/*
 * Names the frames of a live profile while it is sampled. A thread of its own looks the names up,
 * as those of a large program can take seconds; the sampling thread opens the files.
 */
#ifndef SPROF_NAME_ROUNDS_H
#define SPROF_NAME_ROUNDS_H

#include <stdbool.h>

struct debuginfod;
struct live;
struct name_rounds;
struct recorder;

/* The naming thread calls `done` after each round. */
struct name_rounds *name_rounds_new(struct live *live, struct recorder *recorder,
				    struct debuginfod *servers, void (*done)(void *context),
				    void *context);
/* Waits for the round that is under way. NULL is fine. */
void name_rounds_free(struct name_rounds *n);

/* Begins a round if there is something to name and it is time for it. */
void name_rounds_poll(struct name_rounds *n);
/* Names all frames that have no name yet, before it returns. */
void name_rounds_finish(struct name_rounds *n);

#endif
