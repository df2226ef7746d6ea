/*
 * Sorts stacks, given as sequences of numbers, so that equal beginnings stand together: what a tree
 * is made from in one pass. A hash of nodes does the same and waits for memory at every frame.
 */
#ifndef SPROF_STACK_SORT_H
#define SPROF_STACK_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Bits of a code that take part in the order; the others are carried along. */
#define STACK_SORT_MASK 0x7fffffffu

struct stack_line {
	size_t first; /* in codes[] */
	uint32_t nr;
};

/*
 * Puts into order[0..nr-1] the lines ascending: number by number, a shorter line before its
 * continuations. Codes are at least 1 under the mask.
 */
void stack_sort(const struct stack_line *lines, size_t nr, const uint32_t *codes, uint32_t *order);

#endif
