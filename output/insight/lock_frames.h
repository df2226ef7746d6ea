/*
 * The Python code around a lock: where threads wait for it, and where it is released. A lock of
 * Python lies in the heap, so its address tells a reader nothing.
 */
#ifndef SPROF_LOCK_FRAMES_H
#define SPROF_LOCK_FRAMES_H

#include <stdint.h>

struct profile;
struct lock_frames;

struct lock_frames *lock_frames_new(const struct profile *p);
void lock_frames_free(struct lock_frames *frames);
/*
 * The function that waited longest for the lock, and the function whose release ended the longest
 * waits; "": not known. The strings live as long as `frames`.
 */
const char *lock_frames_wanted_in(const struct lock_frames *frames, uint64_t pid, uint64_t address);
const char *lock_frames_released_in(const struct lock_frames *frames, uint64_t pid,
				    uint64_t address);

#endif
