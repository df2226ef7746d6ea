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

/* Most words of all stacks together. */
#define STACK_SORT_MAX UINT32_MAX

/* Stacks one after another: words that stand for codes. A code of 0 ends a stack, the others are more. */
struct stack_words {
	const uint32_t *words;
	/* By word + 1, so that UINT32_MAX can be the word that ends a stack. NULL: words are codes. */
	const uint32_t *code_of;
};

/* A stack on its way to its place. */
struct stack_item {
	uint64_t key;	 /* its next two codes, see stack_item() */
	uint32_t line;	 /* where in the words it begins */
	uint32_t number; /* for the caller */
};

static inline uint32_t stack_code(const struct stack_words *w, size_t at)
{
	uint32_t word = w->words[at];

	return w->code_of ? w->code_of[(uint32_t)(word + 1)] : word;
}

/* The next two codes in one number, 0 past the end. */
static inline uint64_t stack_key(const struct stack_words *w, size_t at)
{
	uint64_t first = stack_code(w, at) & STACK_SORT_MASK;

	return first ? first << 32 | (stack_code(w, at + 1) & STACK_SORT_MASK) : 0;
}

static inline struct stack_item stack_item(const struct stack_words *w, size_t line,
					   uint32_t number)
{
	return (struct stack_item){ stack_key(w, line), (uint32_t)line, number };
}

/*
 * Sorts stacks ascending: code by code, a shorter one before its continuations. Codes are at least 1
 * under the mask. `room` is for nr more items, or NULL.
 */
void stack_sort(struct stack_item *items, size_t nr, const struct stack_words *words,
		struct stack_item *room);

#endif
