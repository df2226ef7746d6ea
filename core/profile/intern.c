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

/* The slot of that hash and content, or the empty one where it would be. `equal`: NULL = any. */
static inline size_t find_slot(const struct intern *t, uint32_t hash, intern_equal *equal,
			       const void *owner, const void *key)
{
	size_t mask = t->nr_slots - 1, at = hash & mask;

	for (; t->slots[at].id != EMPTY; at = (at + 1) & mask)
		if (t->slots[at].hash == hash && (!equal || equal(owner, t->slots[at].id, key)))
			break;
	return at;
}

uint32_t intern_id(struct intern *t, uint32_t hash, uint32_t next_id, intern_equal *equal,
		   const void *owner, const void *key)
{
	struct intern_slot *slot;

	if (4 * t->nr >= 3 * t->nr_slots)
		grow(t);
	slot = &t->slots[find_slot(t, hash, equal, owner, key)];
	if (slot->id != EMPTY)
		return slot->id;
	*slot = (struct intern_slot){ .hash = hash, .id = next_id };
	t->nr++;
	return next_id;
}

uint32_t intern_find(const struct intern *t, uint32_t hash, intern_equal *equal, const void *owner,
		     const void *key)
{
	return t->nr_slots ? t->slots[find_slot(t, hash, equal, owner, key)].id : EMPTY;
}

uint32_t intern_guess(const struct intern *t, uint32_t hash)
{
	return t->nr_slots ? t->slots[find_slot(t, hash, NULL, NULL, NULL)].id : EMPTY;
}

void intern_fini(struct intern *t)
{
	free(t->slots);
	*t = (struct intern){ 0 };
}
