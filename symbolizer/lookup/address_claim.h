/*
 * Who owns each of some addresses, where ranges claim them in turn and the first claim holds. An
 * address that is taken is not looked at again (a union-find leads past it), so a million ranges that
 * all cover everything cost no more than any other million.
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

/* Gives what is unclaimed in [start, start + size) to `owner`. */
void address_claim_take(struct address_claim *claim, uint64_t start, uint64_t size, uint32_t owner);

/* The owner of one of the addresses; ADDRESS_UNCLAIMED also for what is none of them. */
uint32_t address_claim_owner(const struct address_claim *claim, uint64_t address);
/* Index of an address among them; nr where it is none of them. */
size_t address_claim_find(const struct address_claim *claim, uint64_t address);

#endif
