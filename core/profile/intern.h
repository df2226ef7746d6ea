/*
 * The hash table behind interning: content -> dense id, by open addressing. It holds only (hash,
 * id) pairs of 8 bytes; the owner has the content in an array, and compares it.
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
/* The id of the entry that equals `key`, or UINT32_MAX; adds nothing. */
uint32_t intern_find(const struct intern *t, uint32_t hash, intern_equal *equal, const void *owner,
		     const void *key);
/*
 * For callers with many keys, so that the processor fetches their slots and entries in parallel.
 * The first fetches the slot of a hash; the second returns the first entry with that hash, which
 * most likely equals the key, or UINT32_MAX.
 */
static inline void intern_prefetch(const struct intern *t, uint32_t hash)
{
	if (t->nr_slots)
		__builtin_prefetch(&t->slots[hash & (t->nr_slots - 1)]);
}
uint32_t intern_guess(const struct intern *t, uint32_t hash);
void intern_fini(struct intern *t);

#endif
