/*
 * The hash table behind interning: content -> dense id. It holds only (hash, id) pairs of 8 bytes;
 * the content lies in the owner's array, and the owner compares it. Open addressing.
 */
#ifndef SPROF_INTERN_H
#define SPROF_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern_slot {
	uint32_t hash;
	uint32_t id; /* UINT32_MAX = empty */
};

/* Zeroed is a valid empty table. */
struct intern {
	struct intern_slot *slots; /* a power of two of them */
	size_t nr_slots, nr;
};

/* Returns whether entry `id` of the owner has the content of `key`. */
typedef bool intern_equal(const void *owner, uint32_t id, const void *key);

/*
 * Returns the id of the entry that equals `key`. Where there is none, adds `next_id` and returns
 * it; the caller then stores the content under that id. `hash` is the hash of the content; the
 * table uses all its bits.
 */
uint32_t intern_id(struct intern *t, uint32_t hash, uint32_t next_id, intern_equal *equal,
		   const void *owner, const void *key);
/*
 * For callers with many keys, whose slots and entries the processor can then fetch side by side:
 * asks for the slot of a hash; and returns the first entry of that hash, which is likely to equal
 * the key, or UINT32_MAX.
 */
static inline void intern_prefetch(const struct intern *t, uint32_t hash)
{
	if (t->nr_slots)
		__builtin_prefetch(&t->slots[hash & (t->nr_slots - 1)]);
}
uint32_t intern_guess(const struct intern *t, uint32_t hash);
void intern_fini(struct intern *t);

#endif
