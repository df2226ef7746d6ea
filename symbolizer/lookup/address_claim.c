/*
 * The array `next` is a union-find: it leads from each address to the first unclaimed one, and
 * paths are shortened as they are followed.
 */
#include "symbolizer/lookup/address_claim.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/search.h"

void address_claim_init(struct address_claim *c, const uint64_t *addresses, size_t nr)
{
	c->nr = nr;
	c->addresses = xreallocarray(NULL, nr, sizeof(*c->addresses));
	if (nr)
		memcpy(c->addresses, addresses, nr * sizeof(*addresses));
	c->owners = xreallocarray(NULL, nr, sizeof(*c->owners));
	c->next = xreallocarray(NULL, nr + 1, sizeof(*c->next));
	for (size_t i = 0; i < nr; i++)
		c->owners[i] = ADDRESS_UNCLAIMED;
	for (size_t i = 0; i <= nr; i++)
		c->next[i] = (uint32_t)i;
}

void address_claim_fini(struct address_claim *c)
{
	free(c->addresses);
	free(c->owners);
	free(c->next);
	*c = (struct address_claim){ 0 };
}

static size_t first_unclaimed(struct address_claim *c, size_t at)
{
	size_t root = at;

	while (c->next[root] != root)
		root = c->next[root];
	while (c->next[at] != root) {
		size_t up = c->next[at];

		c->next[at] = (uint32_t)root;
		at = up;
	}
	return root;
}

/* Returns the index of the first address >= start. */
static size_t lower_bound(const struct address_claim *c, uint64_t start)
{
	return SEARCH(i, c->nr, c->addresses[i] < start);
}

void address_claim_take(struct address_claim *c, uint64_t start, uint64_t size, uint32_t owner)
{
	for (size_t i = first_unclaimed(c, lower_bound(c, start));
	     i < c->nr && c->addresses[i] - start < size; i = first_unclaimed(c, i)) {
		c->owners[i] = owner;
		c->next[i] = (uint32_t)i + 1;
	}
}

size_t address_claim_find(const struct address_claim *c, uint64_t address)
{
	size_t i = lower_bound(c, address);

	return i < c->nr && c->addresses[i] == address ? i : c->nr;
}

uint32_t address_claim_owner(const struct address_claim *c, uint64_t address)
{
	size_t i = address_claim_find(c, address);

	return i < c->nr ? c->owners[i] : ADDRESS_UNCLAIMED;
}
