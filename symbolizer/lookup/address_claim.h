/*
 * Decides which range owns each of some addresses, where ranges claim them in turn and the first
 * claim counts. A claimed address is not visited again, so a million ranges that all cover
 * everything cost no more than a million others.
 */
#ifndef SPROF_ADDRESS_CLAIM_H
#define SPROF_ADDRESS_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#define ADDRESS_UNCLAIMED UINT32_MAX

struct address_claim {
	uint64_t *addresses; /* sorted, unique */
	uint32_t *owners;    /* of each; or ADDRESS_UNCLAIMED */
	uint32_t *next;	     /* first unclaimed address at or after this one; nr = none */
	size_t nr;
};

/* Copies the addresses. */
void address_claim_init(struct address_claim *claim, const uint64_t *addresses, size_t nr);
void address_claim_fini(struct address_claim *claim);

/* Gives the unclaimed addresses in [start, start + size) to `owner`. */
void address_claim_take(struct address_claim *claim, uint64_t start, uint64_t size, uint32_t owner);

/*
 * Returns the owner of an address; ADDRESS_UNCLAIMED also for an address that is not one of them.
 */
uint32_t address_claim_owner(const struct address_claim *claim, uint64_t address);
/* Returns the index of an address; nr where it is not one of them. */
size_t address_claim_find(const struct address_claim *claim, uint64_t address);

#endif
