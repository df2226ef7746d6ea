/*
 * Sorts stacks, which are sequences of codes, so that equal beginnings are adjacent and a tree can
 * be built from them in one pass. A hash table of nodes would do as well, but would wait for memory
 * at each frame.
 */
#ifndef SPROF_STACK_SORT_H
#define SPROF_STACK_SORT_H

#include <stddef.h>
#include <stdint.h>

/* The bits of a code that are compared; the others are ignored. */
#define STACK_SORT_MASK 0x7fffffffu

/* The most words that all stacks together may have. */
#define STACK_SORT_MAX UINT32_MAX

/* The stacks, as words that stand for codes. The code 0 ends a stack. */
struct stack_words {
	const uint32_t *words;
	/* The code of each word, at word + 1: UINT32_MAX may be a word. NULL: words are codes. */
	const uint32_t *code_of;
};

/* A stack to be sorted. */
struct stack_item {
	uint64_t key;	 /* its next two codes, see stack_key() */
	uint32_t line;	 /* index of its first word */
	uint32_t number; /* of the caller's choice */
};

static inline uint32_t stack_code(const struct stack_words *w, size_t at)
{
	uint32_t word = w->words[at];

	return w->code_of ? w->code_of[(uint32_t)(word + 1)] : word;
}

/* The next two codes of a stack in one number; 0 past its end. */
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
 * Sorts stacks ascending, code by code, a shorter one before its continuations. Codes, masked, are
 * at least 1. `room` is scratch space for nr items, or NULL.
 */
void stack_sort(struct stack_item *items, size_t nr, const struct stack_words *words,
		struct stack_item *room);

#endif
