/*
 * Translates the numbers of a recording (of strings, modules, ..., stacks) to ids of the profile. A
 * reader looks up every frame of every stack, so the functions are inline.
 */
#ifndef SPROF_ID_MAP_H
#define SPROF_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cursor.h"
#include "core/recording/record.h"

/* Ids by number; PROFILE_NONE if the entry was lost. */
struct id_map {
	uint32_t *ids;
	size_t nr, capacity;
};

/* Makes room for one more. */
void id_map_grow(struct id_map *map);

/* Reads a number and translates it. Returns false if there is no such number. */
static inline bool id_map_get(struct cursor *c, const struct id_map *map, uint32_t *ret_id)
{
	uint64_t number;

	if (!cursor_get_below(c, map->nr, &number))
		return false;
	*ret_id = map->ids[number];
	return true;
}

/* Gives the next number to an id. Returns false if there are too many. */
static inline bool id_map_add(struct id_map *map, uint32_t id)
{
	if (map->nr >= RECORD_MAX_IDS)
		return false;
	if (map->nr == map->capacity)
		id_map_grow(map);
	map->ids[map->nr++] = id;
	return true;
}

#endif
