/*
 * Translates the numbers of a recording (of strings, modules, ..., stacks) to ids of the profile.
 */
#ifndef SPROF_ID_MAP_H
#define SPROF_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;

/* Ids by number; PROFILE_NONE if the entry was lost. */
struct id_map {
	uint32_t *ids;
	size_t nr, capacity;
};

/* Reads a number and translates it. Returns false if there is no such number. */
bool id_map_get(struct cursor *c, const struct id_map *map, uint32_t *ret_id);
/* Gives the next number to an id. Returns false if there are too many. */
bool id_map_add(struct id_map *map, uint32_t id);

#endif
