/*
 * Shares of a table that all users of a host fill, so that no user can fill it alone: each gets at
 * most half of it, all users but root together three quarters, and root three quarters.
 */
#ifndef SPROF_USER_SHARES_H
#define SPROF_USER_SHARES_H

#include <stdint.h>

struct user_share;

struct user_shares {
	uint64_t size;		       /* size of the table */
	uint64_t used, used_by_others; /* others: all users but root */
	struct user_share *by_user;    /* (uthash) */
};

enum share_result {
	SHARE_TAKEN = 0,
	SHARE_USER_FULL, /* the user has all that one user may have */
	SHARE_FULL,	 /* there is no room for users like this one */
};

void user_shares_init(struct user_shares *shares, uint64_t size);
void user_shares_fini(struct user_shares *shares);

/* What user_shares_take() would return. */
enum share_result user_shares_check(const struct user_shares *shares, uint32_t user,
				    uint64_t amount);
/* Takes `amount` for a user, or nothing. */
enum share_result user_shares_take(struct user_shares *shares, uint32_t user, uint64_t amount);
/* Gives back `amount` of what was taken for the user. */
void user_shares_give(struct user_shares *shares, uint32_t user, uint64_t amount);

#endif
