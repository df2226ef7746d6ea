/*
 * Finds repeated frames in deep stacks: the frames of a recursion, f f f f or f g f g, are counted
 * instead of stored, once a stack has more frames than a reader could look at.
 */
#ifndef SPROF_REPEATS_H
#define SPROF_REPEATS_H

#include <stddef.h>
#include <stdint.h>

/* Stacks with fewer user frames are stored as they are. */
#define REPEATS_MIN_DEPTH 512u

/* The frames from words[start] on: nr of them, of which each later run is equal to the first. */
struct repeat {
	size_t start;
	uint32_t nr_frames; /* of a run, at most REPEAT_MAX_FRAMES (core/profile/markers.h) */
	uint32_t nr_more;   /* runs after the first; 0: there are no repeated frames */
};

/*
 * The first repeated frames in words[from] and on that are worth a marker; the last word is never
 * one of them. Returns { .start = nr } if there are none.
 */
struct repeat repeats_next(const uint64_t *words, size_t nr, size_t from);

#endif
