/* Numbers are dense, so the map is an array. */
#include "core/recording/id_map.h"

#include "core/base/alloc.h"
#include "core/base/cursor.h"
#include "core/recording/record.h"

bool id_map_get(struct cursor *c, const struct id_map *map, uint32_t *ret_id)
{
	uint64_t number;

	if (!cursor_get_below(c, map->nr, &number))
		return false;
	*ret_id = map->ids[number];
	return true;
}

bool id_map_add(struct id_map *map, uint32_t id)
{
	if (map->nr >= RECORD_MAX_IDS)
		return false;
	map->ids = xgrow(map->ids, &map->capacity, map->nr + 1, sizeof(*map->ids));
	map->ids[map->nr++] = id;
	return true;
}
