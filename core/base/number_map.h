/*
 * A map from 64-bit keys (addresses, ids) to 32-bit numbers. Targets and files choose the keys, so
 * each map hashes them with a random factor.
 */
#ifndef SPROF_NUMBER_MAP_H
#define SPROF_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_slot {
	uint64_t key;
	uint32_t value;
	bool used;
};

/* Zeroed is a valid empty map. */
struct number_map {
	struct number_slot *slots; /* a power of two of them, open addressing */
	size_t nr_slots, nr;
	uint64_t factor; /* random and odd, once there are slots */
};

static inline size_t number_map_first_slot(const struct number_map *map, uint64_t key)
{
	uint64_t h = key * map->factor;

	return (size_t)(h ^ h >> 32) & (map->nr_slots - 1);
}

/* The value of a key that is in the map, good until the next call that adds one; else NULL. */
static inline uint32_t *number_map_find(const struct number_map *map, uint64_t key)
{
	size_t at = map->nr_slots ? number_map_first_slot(map, key) : 0;

	if (!map->nr_slots)
		return NULL;
	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->nr_slots - 1);
	return map->slots[at].used ? &map->slots[at].value : NULL;
}

/*
 * The value of a key, to be read or written; good until the next call. *ret_new says that the key
 * was not there: its value is 0 until the caller sets it.
 */
uint32_t *number_map_at(struct number_map *map, uint64_t key, bool *ret_new);
/*
 * Fetches the slot of a key into the cache; call it some steps before number_map_at(), for tables
 * that are larger than the cache.
 */
static inline void number_map_prefetch(const struct number_map *map, uint64_t key)
{
	if (map->nr_slots)
		__builtin_prefetch(&map->slots[number_map_first_slot(map, key)]);
}
void number_map_fini(struct number_map *map);

#endif
