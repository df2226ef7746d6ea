/*
 * Strings that live as long as the pool. Equal content has one copy, so pointers can be compared.
 */
#ifndef SPROF_STRING_POOL_H
#define SPROF_STRING_POOL_H

#include <stddef.h>

#include "core/profile/intern.h"

/* Zeroed is a valid empty pool. */
struct string_pool {
	struct intern index;
	const char **strings;
	char **blocks;
	size_t nr, capacity, nr_blocks, blocks_capacity;
	char *at;
	size_t left;
};

const char *string_pool_add(struct string_pool *pool, const char *s);
void string_pool_fini(struct string_pool *pool);

#endif
