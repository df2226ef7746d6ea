/* Python frames and native frames that were found apart become one stack, as the kernel side does it. */
#ifndef SPROF_MERGE_FRAMES_H
#define SPROF_MERGE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* A native stack, leaf first: frames as the walkers give them, and the stack pointer in each. */
struct native_stack {
	const uint64_t *frames, *sps;
	size_t nr;
};

/*
 * The Python frames of the thread, innermost first, as the kernel side sends them: each run is a
 * word that is its boundary (0: none) and the words of its frames (FRAME_PYTHON).
 */
struct python_runs {
	const uint64_t *words;
	size_t nr;
	uint64_t eval_start,
		eval_size; /* the text that runs a frame, for runs without a boundary */
};

/*
 * Fills `merged`, `max` words, and returns how many: a native frame that runs Python frames is
 * replaced by them; runs whose native frame was not met follow at the root.
 */
size_t python_merge(const struct native_stack *native, const struct python_runs *runs,
		    uint64_t *merged, size_t max);

/* The first and the last of `nr` frames, at most `max`; returns after how many there is a gap. */
size_t python_merge_cut(uint64_t *to, const uint64_t *from, size_t nr, size_t max);

#endif
