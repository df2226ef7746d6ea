/*
 * Linear probing over (hash, id) pairs. The table doubles when it is three quarters full; hashes
 * are kept, so growing needs no content.
 */
#include "core/profile/intern.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define EMPTY UINT32_MAX
#define MIN_SLOTS 64

static void grow(struct intern *t)
{
	size_t nr_slots = t->nr_slots ? 2 * t->nr_slots : MIN_SLOTS;
	struct intern_slot *slots = xreallocarray(NULL, nr_slots, sizeof(*slots));

	memset(slots, 0xff, nr_slots * sizeof(*slots));
	for (size_t i = 0; i < t->nr_slots; i++) {
		size_t at;

		if (t->slots[i].id == EMPTY)
			continue;
		at = t->slots[i].hash & (nr_slots - 1);
		while (slots[at].id != EMPTY)
			at = (at + 1) & (nr_slots - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->nr_slots = nr_slots;
}

uint32_t intern_id(struct intern *t, uint32_t hash, uint32_t next_id, intern_equal *equal,
		   const void *owner, const void *key)
{
	size_t mask, at;

	if (4 * t->nr >= 3 * t->nr_slots)
		grow(t);
	mask = t->nr_slots - 1;
	for (at = hash & mask; t->slots[at].id != EMPTY; at = (at + 1) & mask) {
		const struct intern_slot *slot = &t->slots[at];

		if (slot->hash == hash && equal(owner, slot->id, key))
			return slot->id;
	}
	t->slots[at] = (struct intern_slot){ .hash = hash, .id = next_id };
	t->nr++;
	return next_id;
}

uint32_t intern_find(const struct intern *t, uint32_t hash, intern_equal *equal, const void *owner,
		     const void *key)
{
	size_t mask = t->nr_slots - 1, at;

	if (!t->nr_slots)
		return EMPTY;
	for (at = hash & mask; t->slots[at].id != EMPTY; at = (at + 1) & mask)
		if (t->slots[at].hash == hash && equal(owner, t->slots[at].id, key))
			return t->slots[at].id;
	return EMPTY;
}

uint32_t intern_guess(const struct intern *t, uint32_t hash)
{
	size_t mask = t->nr_slots - 1, at;

	if (!t->nr_slots)
		return EMPTY;
	for (at = hash & mask; t->slots[at].id != EMPTY; at = (at + 1) & mask)
		if (t->slots[at].hash == hash)
			return t->slots[at].id;
	return EMPTY;
}

void intern_fini(struct intern *t)
{
	free(t->slots);
	*t = (struct intern){ 0 };
}
