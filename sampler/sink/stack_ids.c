/*
 * Open addressing with linear probing. Keys are hashes already, so their bits choose the slot.
 */
#include "sampler/sink/stack_ids.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define MIN_SLOTS 4096
#define MAX_STACKS (1u << 20)

struct slot {
	uint64_t key; /* 0 = free */
	struct known_stack stack;
};

struct stack_ids {
	struct slot *slots;
	size_t nr_slots, nr, max;
};

struct stack_ids *stack_ids_new(void)
{
	struct stack_ids *k = xcalloc(1, sizeof(*k));

	k->nr_slots = MIN_SLOTS;
	k->slots = xcalloc(k->nr_slots, sizeof(*k->slots));
	k->max = MAX_STACKS;
	return k;
}

/* At worst it has four slots for a stack, and half as much again while it doubles. */
void stack_ids_set_memory(struct stack_ids *k, uint64_t bytes)
{
	uint64_t max = bytes / (6 * sizeof(*k->slots));

	k->max = max < MIN_SLOTS / 2 ? MIN_SLOTS / 2 : max < MAX_STACKS ? max : MAX_STACKS;
}

void stack_ids_free(struct stack_ids *k)
{
	if (!k)
		return;
	free(k->slots);
	free(k);
}

static struct slot *find_slot(struct slot *slots, size_t nr_slots, uint64_t key)
{
	size_t i = (key >> 7) & (nr_slots - 1);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (nr_slots - 1);
	return &slots[i];
}

bool stack_ids_find(const struct stack_ids *k, uint64_t key, struct known_stack *ret_stack)
{
	const struct slot *s = find_slot(k->slots, k->nr_slots, key);

	if (!s->key)
		return false;
	*ret_stack = s->stack;
	return true;
}

static void double_size(struct stack_ids *k)
{
	size_t nr_slots = k->nr_slots * 2;
	struct slot *slots = xcalloc(nr_slots, sizeof(*slots));

	for (size_t i = 0; i < k->nr_slots; i++)
		if (k->slots[i].key)
			*find_slot(slots, nr_slots, k->slots[i].key) = k->slots[i];
	free(k->slots);
	k->slots = slots;
	k->nr_slots = nr_slots;
}

void stack_ids_clear(struct stack_ids *k)
{
	free(k->slots);
	k->nr_slots = MIN_SLOTS;
	k->slots = xcalloc(k->nr_slots, sizeof(*k->slots));
	k->nr = 0;
}

bool stack_ids_add(struct stack_ids *k, uint64_t key, struct known_stack stack)
{
	bool kept = true;
	struct slot *s;

	if (k->nr >= k->max) {
		memset(k->slots, 0, k->nr_slots * sizeof(*k->slots));
		k->nr = 0;
		kept = false;
	} else if (k->nr * 2 >= k->nr_slots) {
		double_size(k);
	}
	s = find_slot(k->slots, k->nr_slots, key);
	if (!s->key)
		k->nr++;
	*s = (struct slot){ key, stack };
	return kept;
}
