/* Linear probing; grows at half full. */
#include "core/base/number_map.h"

#include <stdlib.h>
#include <sys/random.h>

#include "core/base/alloc.h"

static size_t slot_of(const struct number_map *map, uint64_t key)
{
	size_t at = number_map_first_slot(map, key);

	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->nr_slots - 1);
	return at;
}

/* Uses the address of the slots if the kernel has no random number yet. */
static uint64_t random_factor(const struct number_map *map)
{
	uint64_t factor;

	if (getrandom(&factor, sizeof(factor), GRND_NONBLOCK) != sizeof(factor))
		factor = (uintptr_t)map->slots * 0x9e3779b97f4a7c15u;
	return factor | 1;
}

static void grow(struct number_map *map)
{
	struct number_slot *old = map->slots;
	size_t nr_old = map->nr_slots;

	map->nr_slots = nr_old ? 2 * nr_old : 64;
	map->slots = xcalloc(map->nr_slots, sizeof(*map->slots));
	if (!map->factor)
		map->factor = random_factor(map);
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].used)
			map->slots[slot_of(map, old[i].key)] = old[i];
	free(old);
}

uint32_t *number_map_at(struct number_map *map, uint64_t key, bool *ret_new)
{
	struct number_slot *slot;

	if (2 * map->nr >= map->nr_slots)
		grow(map);
	slot = &map->slots[slot_of(map, key)];
	*ret_new = !slot->used;
	if (!slot->used) {
		*slot = (struct number_slot){ .key = key, .used = true };
		map->nr++;
	}
	return &slot->value;
}

void number_map_fini(struct number_map *map)
{
	free(map->slots);
	*map = (struct number_map){ 0 };
}
