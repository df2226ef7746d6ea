/*
 * The hash table behind interning: content -> dense id. It holds only (hash, id) pairs; the content
 * lies in the owner's own array, and the owner compares. Open addressing, 8 bytes per slot.
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

/* Does entry `id` of the owner have the content of `key`? */
typedef bool intern_equal(const void *owner, uint32_t id, const void *key);

/*
 * Returns the id of the entry equal to `key`. Where there is none, `next_id` is entered for it and
 * returned: the caller then stores the content under that id. `hash` is of the content; the table
 * uses all of its bits.
 */
uint32_t intern_id(struct intern *t, uint32_t hash, uint32_t next_id, intern_equal *equal,
		   const void *owner, const void *key);
void intern_fini(struct intern *t);

#endif
