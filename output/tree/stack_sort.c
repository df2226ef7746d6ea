/*
 * A radix sort that starts with the first codes and keeps the next codes of each stack beside it
 * (Sinha, Zobel: Cache-conscious sorting of large sets of strings with dynamic tries, 2004). Stacks
 * can be millions of frames deep, so the ranges still to be sorted are a list on the heap rather
 * than a recursion.
 */
#include "output/tree/stack_sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

enum { INSERTION_MAX = 8, BATCH = 32, MAX_BUCKET_BITS = 16 };

struct range {
	size_t start, end;
	uint32_t depth;
};

struct sorter {
	struct stack_words words;
	struct stack_item *items;
	struct stack_item *copy; /* scratch space of distribute() */
	uint32_t *counts;	 /* also scratch space of distribute() */
	uint32_t *shared;	 /* by place: see stack_sort() */
	struct range *todo;
	size_t nr_todo, capacity;
};

/* Does a come before b? Both keys are of the codes at `depth`, and all codes before are equal. */
static bool before(const struct sorter *s, const struct stack_item *a, const struct stack_item *b,
		   uint32_t depth)
{
	uint64_t x = a->key, y = b->key;

	while (x == y && !stack_key_is_last(&s->words, x)) {
		depth += s->words.codes_per_key;
		x = stack_key(&s->words, (size_t)a->line + depth);
		y = stack_key(&s->words, (size_t)b->line + depth);
	}
	return x < y;
}

/*
 * Notes how many codes the items at places at - 1 and `at` share, by their keys of the codes at
 * `depth`. Sorting their ranges may still put other items there: these share as many or more.
 */
static void note_shared(const struct sorter *s, size_t at, uint32_t depth)
{
	const struct stack_words *w = &s->words;
	uint64_t differences = s->items[at - 1].key ^ s->items[at].key;
	unsigned used = w->code_bits * w->codes_per_key;

	if (differences)
		depth += ((unsigned)__builtin_clzll(differences) - (64 - used)) / w->code_bits;
	else if (!stack_key_is_last(w, s->items[at].key))
		depth += w->codes_per_key;
	s->shared[at] = depth;
}

static void insertion_sort(const struct sorter *s, const struct range *r)
{
	for (size_t i = r->start + 1; i < r->end; i++) {
		struct stack_item item = s->items[i];
		size_t at = i;

		for (; at > r->start && before(s, &item, &s->items[at - 1], r->depth); at--)
			s->items[at] = s->items[at - 1];
		s->items[at] = item;
	}
	for (size_t i = r->start + 1; i < r->end; i++)
		note_shared(s, i, r->depth);
}

static void push(struct sorter *s, size_t start, size_t end, uint32_t depth)
{
	if (end - start < 2)
		return;
	s->todo = xgrow(s->todo, &s->capacity, s->nr_todo + 1, sizeof(*s->todo));
	s->todo[s->nr_todo++] = (struct range){ start, end, depth };
}

/* The first and the last word of a key may lie in two lines of the cache. */
static inline void __attribute__((always_inline))
prefetch_key(const struct stack_words *w, size_t at)
{
	__builtin_prefetch(&w->words[at]);
	__builtin_prefetch(&w->words[at + w->codes_per_key - 1]);
}

/* The stacks are scattered in memory: prefetching hides most of the latency. */
static void read_keys(struct sorter *s, size_t start, size_t end, uint32_t depth)
{
	size_t ahead = start;

	for (size_t i = start; i < end; i++) {
		/* At once, so that page tables are read side by side: see tree.c. */
		if ((i - start) % BATCH == 0)
			for (; ahead < end && ahead < i + 2 * BATCH; ahead++)
				prefetch_key(&s->words, (size_t)s->items[ahead].line + depth);
		s->items[i].key = stack_key(&s->words, (size_t)s->items[i].line + depth);
	}
}

/* All items of the range have the same key: sort them by the codes after it. */
static void go_deeper(struct sorter *s, size_t start, size_t end, uint32_t depth)
{
	uint32_t next = depth + s->words.codes_per_key;

	if (end - start < 2 || stack_key_is_last(&s->words, s->items[start].key))
		return;
	read_keys(s, start, end, next);
	push(s, start, end, next);
}

/* The logarithm of the number of buckets, of which there are about as many as items. */
static unsigned bucket_bits(size_t nr)
{
	unsigned bits = 63 - (unsigned)__builtin_clzll(nr);

	return bits < MAX_BUCKET_BITS ? bits : MAX_BUCKET_BITS;
}

/*
 * Distributes a range into buckets by the highest bits in which its keys differ. As a key has 64
 * bits, a few rounds suffice whatever the keys are.
 */
static void distribute(struct sorter *s, const struct range *r)
{
	struct stack_item *items = s->items + r->start;
	size_t n = r->end - r->start, at = 0;
	uint64_t least = items[0].key, most = least;
	unsigned bits = bucket_bits(n), length, shift;

	for (size_t i = 1; i < n; i++) {
		least = items[i].key < least ? items[i].key : least;
		most = items[i].key > most ? items[i].key : most;
	}
	if (least == most) {
		go_deeper(s, r->start, r->end, r->depth);
		return;
	}
	length = 64 - (unsigned)__builtin_clzll(most - least);
	shift = length > bits ? length - bits : 0;
	most = (most - least) >> shift;
	memset(s->counts, 0, (most + 1) * sizeof(*s->counts));
	for (size_t i = 0; i < n; i++)
		s->counts[(items[i].key - least) >> shift]++;
	for (uint64_t i = 0; i <= most; i++) {
		size_t count = s->counts[i];

		s->counts[i] = (uint32_t)at;
		at += count;
	}
	memcpy(s->copy, items, n * sizeof(*items));
	for (size_t i = 0; i < n; i++)
		items[s->counts[(s->copy[i].key - least) >> shift]++] = s->copy[i];
	for (uint64_t i = 0; i <= most; i++) {
		size_t start = i ? s->counts[i - 1] : 0, end = s->counts[i];

		if (start < end && end < n)
			note_shared(s, r->start + end, r->depth);
		if (shift)
			push(s, r->start + start, r->start + end, r->depth);
		else
			go_deeper(s, r->start + start, r->start + end, r->depth);
	}
}

void stack_sort(struct stack_item *items, size_t nr, const struct stack_words *words,
		struct stack_item *room)
{
	struct sorter s = { .items = items, .words = *words, .copy = room };

	s.shared = xcalloc(nr, sizeof(*s.shared));
	if (nr > INSERTION_MAX) {
		s.copy = room ? room : xreallocarray(NULL, nr, sizeof(*s.copy));
		s.counts = xcalloc((size_t)1 << bucket_bits(nr), sizeof(*s.counts));
	}
	push(&s, 0, nr, 0);
	while (s.nr_todo) {
		struct range r = s.todo[--s.nr_todo];

		if (r.end - r.start <= INSERTION_MAX)
			insertion_sort(&s, &r);
		else
			distribute(&s, &r);
	}
	for (size_t i = 0; i < nr; i++)
		items[i].key = s.shared[i];
	if (s.copy != room)
		free(s.copy);
	free(s.shared);
	free(s.counts);
	free(s.todo);
}
