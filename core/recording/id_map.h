/* What the numbers of a recording stand for: strings, modules, threads, frames, stacks. */
#ifndef SPROF_ID_MAP_H
#define SPROF_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;

/*
 * Maps a number in the recording to the id in the profile; PROFILE_NONE where the entry was lost.
 */
struct id_map {
	uint32_t *ids;
	size_t nr, capacity;
};

/* Reads a number and gives the id that it stands for. false: there is no such number. */
bool id_map_get(struct cursor *c, const struct id_map *map, uint32_t *ret_id);
/* Gives the next number to an id. false: there are too many. */
bool id_map_add(struct id_map *map, uint32_t id);

#endif
