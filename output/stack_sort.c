/*
 * Multikey quicksort (Bentley, Sedgewick: Fast algorithms for sorting and searching strings, 1997)
 * with the next two numbers of each line cached beside it (Sinha, Zobel), and a heap-held list of
 * ranges in place of recursion: stacks can be millions of frames deep.
 */
#include "output/stack_sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

enum { INSERTION_MAX = 12, AHEAD = 16, DISTRIBUTE_MIN = 4096 };

struct range {
	size_t start, end;
	uint32_t depth;
};

struct sorter {
	const uint32_t *codes;
	struct stack_item *items;
	struct stack_item *copy; /* room for distribute(), as are the counts */
	uint32_t *counts;
	struct range *todo;
	size_t nr_todo, capacity;
};

/* a before b, from `depth` on; the keys are those at depth. */
static bool before(const struct sorter *s, const struct stack_item *a, const struct stack_item *b,
		   uint32_t depth)
{
	uint64_t x = a->key, y = b->key;

	while (x == y && (uint32_t)x) {
		depth += 2;
		x = stack_key(s->codes + a->line + depth);
		y = stack_key(s->codes + b->line + depth);
	}
	return x < y;
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
}

static void push(struct sorter *s, size_t start, size_t end, uint32_t depth)
{
	if (end - start < 2)
		return;
	s->todo = xgrow(s->todo, &s->capacity, s->nr_todo + 1, sizeof(*s->todo));
	s->todo[s->nr_todo++] = (struct range){ start, end, depth };
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
	if (a < b)
		return b < c ? b : a < c ? c : a;
	return a < c ? a : b < c ? c : b;
}

/* Lines lie in memory as they came; asking for them ahead hides most of the waiting. */
static void read_keys(struct sorter *s, size_t start, size_t end, uint32_t depth)
{
	for (size_t i = start; i < end; i++) {
		if (i + AHEAD < end)
			__builtin_prefetch(&s->codes[s->items[i + AHEAD].line + depth]);
		s->items[i].key = stack_key(s->codes + s->items[i].line + depth);
	}
}

static void partition(struct sorter *s, const struct range *r)
{
	struct stack_item *items = s->items;
	size_t n = r->end - r->start, less = r->start, at = r->start, more = r->end;
	uint64_t pivot = median(items[r->start + n / 8].key, items[r->start + n / 2].key,
				items[r->end - 1 - n / 8].key);

	while (at < more) {
		struct stack_item item = items[at];

		if (item.key < pivot) {
			items[at++] = items[less];
			items[less++] = item;
		} else if (item.key > pivot) {
			items[at] = items[--more];
			items[more] = item;
		} else {
			at++;
		}
	}
	push(s, r->start, less, r->depth);
	push(s, more, r->end, r->depth);
	if ((uint32_t)pivot) {
		read_keys(s, less, more, r->depth + 2);
		push(s, less, more, r->depth + 2);
	}
}

/* Bits of the keys in a range, that all have and that any has: they differ where these do. */
static uint64_t differing_bits(const struct stack_item *items, size_t nr)
{
	uint64_t all = UINT64_MAX, any = 0;

	for (size_t i = 0; i < nr; i++) {
		all &= items[i].key;
		any |= items[i].key;
	}
	return all ^ any;
}

/*
 * Puts a large range into buckets, one per value of the first code, or of the second where the first are
 * equal: one pass in place of a dozen partitions. False where it is not worth it.
 */
static bool distribute(struct sorter *s, const struct range *r)
{
	struct stack_item *items = s->items + r->start;
	size_t n = r->end - r->start, at = 0;
	uint64_t differing = n >= DISTRIBUTE_MIN ? differing_bits(items, n) : 0;
	unsigned shift = differing >> 32 ? 32 : 0;
	uint32_t most = 0;

	if (!differing)
		return false;
	for (size_t i = 0; i < n; i++)
		most = (uint32_t)(items[i].key >> shift) > most ? (uint32_t)(items[i].key >> shift)
								: most;
	if (most >= n / 4)
		return false;
	memset(s->counts, 0, ((size_t)most + 1) * sizeof(*s->counts));
	for (size_t i = 0; i < n; i++)
		s->counts[(uint32_t)(items[i].key >> shift)]++;
	for (uint32_t i = 0; i <= most; i++) {
		size_t count = s->counts[i];

		s->counts[i] = (uint32_t)at;
		push(s, r->start + at, r->start + at + count, r->depth);
		at += count;
	}
	memcpy(s->copy, items, n * sizeof(*items));
	for (size_t i = 0; i < n; i++)
		items[s->counts[(uint32_t)(s->copy[i].key >> shift)]++] = s->copy[i];
	return true;
}

void stack_sort(struct stack_item *items, size_t nr, const uint32_t *codes, struct stack_item *room)
{
	struct sorter s = { .items = items, .codes = codes, .copy = room };

	if (nr >= DISTRIBUTE_MIN) {
		s.copy = room ? room : xreallocarray(NULL, nr, sizeof(*s.copy));
		s.counts = xcalloc(nr / 4 + 1, sizeof(*s.counts));
	}
	push(&s, 0, nr, 0);
	while (s.nr_todo) {
		struct range r = s.todo[--s.nr_todo];

		if (r.end - r.start <= INSERTION_MAX)
			insertion_sort(&s, &r);
		else if (!distribute(&s, &r))
			partition(&s, &r);
	}
	if (s.copy != room)
		free(s.copy);
	free(s.counts);
	free(s.todo);
}
