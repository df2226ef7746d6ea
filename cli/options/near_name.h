/*
 * "Did you mean": of the names that exist, the one that a mistyped word most resembles, by the
 * number of letters that have to be inserted, deleted, replaced or swapped with their neighbour.
 */
#ifndef SPROF_NEAR_NAME_H
#define SPROF_NEAR_NAME_H

struct near_name {
	const char *word;  /* what was typed */
	const char *best;  /* of the names offered so far, NULL while none is near enough */
	unsigned distance; /* of `best` */
};

/* Offers a name, which must outlive `near`. Among equally near names the first one stays. */
void near_name_offer(struct near_name *near, const char *name);

#endif
