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

/* A stack on its way to its place. */
struct stack_item {
	uint64_t key;  /* its next two codes, see stack_item() */
	uint64_t line; /* where in codes[] it begins */
};

/* The first two codes in one number, 0 past the end. */
static inline uint64_t stack_key(const uint32_t *codes)
{
	uint64_t first = codes[0] & STACK_SORT_MASK;

	return first ? first << 32 | (codes[1] & STACK_SORT_MASK) : 0;
}

static inline struct stack_item stack_item(const uint32_t *codes, uint64_t line)
{
	return (struct stack_item){ .key = stack_key(codes + line), .line = line };
}

/*
 * Sorts stacks ascending: code by code, a shorter one before its continuations. Codes are at least 1
 * under the mask, and a 0 ends each stack. `room` is for nr more items, or NULL.
 */
void stack_sort(struct stack_item *items, size_t nr, const uint32_t *codes,
		struct stack_item *room);

#endif
