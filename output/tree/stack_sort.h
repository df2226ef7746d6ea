/*
 * Sorts stacks, which are sequences of codes, so that equal beginnings are adjacent and a tree can
 * be built from them in one pass. A hash table of nodes would do as well, but would wait for memory
 * at each frame.
 */
#ifndef SPROF_STACK_SORT_H
#define SPROF_STACK_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bits of a code that are compared; the others are ignored. */
#define STACK_SORT_MASK 0x7fffffffu

/* The most words that all stacks together may have. */
#define STACK_SORT_MAX UINT32_MAX

/* The stacks, as words that stand for codes. The code 0 ends a stack. See stack_words(). */
struct stack_words {
	const uint32_t *words;
	/* The code of each word, at word + 1: UINT32_MAX may be a word. NULL: words are codes. */
	const uint32_t *code_of;
	unsigned code_bits, codes_per_key;
};

struct stack_item {
	uint64_t key;	 /* its first codes, see stack_key(); changed by stack_sort() */
	uint32_t line;	 /* index of its first word */
	uint32_t number; /* of the caller's choice */
};

/* The smaller the largest code, the more codes fit into a key, and the less memory is read. */
static inline struct stack_words stack_words(const uint32_t *words, const uint32_t *code_of,
					     uint32_t largest_code)
{
	unsigned bits = largest_code ? 32 - (unsigned)__builtin_clz(largest_code) : 1;

	return (struct stack_words){ words, code_of, bits, 64 / bits };
}

static inline uint32_t stack_code(const struct stack_words *w, size_t at)
{
	uint32_t word = w->words[at];

	return w->code_of ? w->code_of[(uint32_t)(word + 1)] : word;
}

/* The next codes of a stack in one number, with zeros for those past its end. */
static inline uint64_t stack_key(const struct stack_words *w, size_t at)
{
	uint64_t key = 0;
	uint32_t code = 1;

	for (unsigned i = 0; i < w->codes_per_key; i++) {
		code = code ? stack_code(w, at + i) & STACK_SORT_MASK : 0;
		key = key << w->code_bits | code;
	}
	return key;
}

/* Does a stack end within the codes of this key? */
static inline bool stack_key_is_last(const struct stack_words *w, uint64_t key)
{
	return !(key & ((UINT64_C(1) << w->code_bits) - 1));
}

static inline struct stack_item stack_item(const struct stack_words *w, size_t line,
					   uint32_t number)
{
	return (struct stack_item){ stack_key(w, line), (uint32_t)line, number };
}

/*
 * Sorts stacks ascending, code by code, a shorter one before its continuations. Codes, masked, are
 * at least 1. `room` is scratch space for nr items, or NULL. Afterwards `key` is a number of codes
 * that the stack shares with the one before it in the order; there may be more.
 */
void stack_sort(struct stack_item *items, size_t nr, const struct stack_words *words,
		struct stack_item *room);

#endif
