/*
 * Merges Python frames and native frames that were read separately into one stack, by the same
 * rules as the walkers that meet both at once (core/portable/pyframes.h).
 */
#ifndef SPROF_MERGE_FRAMES_H
#define SPROF_MERGE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A native stack, leaf first: frame words (core/portable/frames.h) and the stack pointer of each.
 */
struct native_stack {
	const uint64_t *frames, *sps;
	size_t nr;
};

/*
 * The Python frames of the thread, innermost first. Each run is a word with its boundary (0: none)
 * and the words of its frames (FRAME_PYTHON).
 */
struct python_runs {
	const uint64_t *words;
	size_t nr;
	/* Text of the function that runs frames, which identifies runs without a boundary. */
	uint64_t eval_start, eval_size;
};

/*
 * Fills `merged` with at most `max` words and returns their number. A native frame that runs Python
 * frames is replaced by them; runs whose native frame is missing follow at the root.
 */
size_t python_merge(const struct native_stack *native, const struct python_runs *runs,
		    uint64_t *merged, size_t max);

/*
 * Do both belong together? The runs are called by native frames in the same order. If the native
 * stack is complete, none is left over, and before 3.10 no call of the eval function either, but
 * the innermost: it may have no Python frame yet, or none any more. Then *ret_leaf native frames,
 * from the leaf to that call, are not to be merged; else it is 0.
 */
bool python_merge_fits(const struct native_stack *native, const struct python_runs *runs,
		       bool complete, size_t *ret_leaf);

/*
 * Keeps the first and last of `nr` frames, `max` in all. Returns the place of the gap; 0: no gap.
 */
size_t python_merge_cut(uint64_t *to, const uint64_t *from, size_t nr, size_t max);

#endif
