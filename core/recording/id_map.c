/* The part of the maps that is seldom needed. */
#include "core/recording/id_map.h"

#include "core/base/alloc.h"

void id_map_grow(struct id_map *map)
{
	map->ids = xgrow(map->ids, &map->capacity, map->nr + 1, sizeof(*map->ids));
}
