/* Strings lie in large blocks, which never move, and an intern table finds equal ones. */
#include "symbolizer/lookup/string_pool.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"

#define BLOCK_SIZE (32u << 10)

static bool string_equal(const void *owner, uint32_t id, const void *key)
{
	const struct string_pool *pool = owner;

	return !strcmp(pool->strings[id], key);
}

static char *allocate(struct string_pool *pool, size_t size)
{
	char *p;

	if (size > pool->left) {
		pool->left = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		pool->at = xmalloc(pool->left);
		pool->blocks = xgrow(pool->blocks, &pool->blocks_capacity, pool->nr_blocks + 1,
				     sizeof(*pool->blocks));
		pool->blocks[pool->nr_blocks++] = pool->at;
	}
	p = pool->at;
	pool->at += size;
	pool->left -= size;
	return p;
}

const char *string_pool_add(struct string_pool *pool, const char *s)
{
	uint32_t next = (uint32_t)pool->nr, id;
	size_t size = strlen(s) + 1;

	id = intern_id(&pool->index, (uint32_t)XXH3_64bits(s, size), next, string_equal, pool, s);
	if (id == next) {
		pool->strings =
			xgrow(pool->strings, &pool->capacity, pool->nr + 1, sizeof(*pool->strings));
		pool->strings[pool->nr++] = memcpy(allocate(pool, size), s, size);
	}
	return pool->strings[id];
}

void string_pool_fini(struct string_pool *pool)
{
	for (size_t i = 0; i < pool->nr_blocks; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	free(pool->strings);
	intern_fini(&pool->index);
}
