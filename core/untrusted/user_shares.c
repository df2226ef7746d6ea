/* A user with an empty share has no entry, so the number of entries is at most the shared size. */
#include "core/untrusted/user_shares.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"

#define ROOT 0u

struct user_share {
	uint32_t user;
	uint64_t used;
	UT_hash_handle hh;
};

void user_shares_init(struct user_shares *s, uint64_t size)
{
	*s = (struct user_shares){ .size = size };
}

void user_shares_fini(struct user_shares *s)
{
	struct user_share *share, *next;

	HASH_ITER (hh, s->by_user, share, next) {
		HASH_DEL(s->by_user, share);
		free(share);
	}
}

static struct user_share *find(const struct user_shares *s, uint32_t user)
{
	struct user_share *share;

	HASH_FIND(hh, s->by_user, &user, sizeof(user), share);
	return share;
}

enum share_result user_shares_check(const struct user_shares *s, uint32_t user, uint64_t amount)
{
	const struct user_share *share = find(s, user);
	uint64_t most = s->size / 4 * 3, used = share ? share->used : 0;

	if (amount > s->size - s->used)
		return SHARE_FULL;
	if (user != ROOT && used + amount > s->size / 2)
		return SHARE_USER_FULL;
	if (user != ROOT && s->used_by_others + amount > most)
		return SHARE_FULL;
	if (user == ROOT && used + amount > most)
		return SHARE_USER_FULL;
	return SHARE_TAKEN;
}

enum share_result user_shares_take(struct user_shares *s, uint32_t user, uint64_t amount)
{
	enum share_result result = user_shares_check(s, user, amount);
	struct user_share *share;

	if (result != SHARE_TAKEN || !amount)
		return result;
	share = find(s, user);
	if (!share) {
		share = xcalloc(1, sizeof(*share));
		share->user = user;
		HASH_ADD(hh, s->by_user, user, sizeof(share->user), share);
	}
	share->used += amount;
	s->used += amount;
	s->used_by_others += user == ROOT ? 0 : amount;
	return SHARE_TAKEN;
}

void user_shares_give(struct user_shares *s, uint32_t user, uint64_t amount)
{
	struct user_share *share = find(s, user);

	if (!amount)
		return;
	assert(share && share->used >= amount);
	share->used -= amount;
	s->used -= amount;
	s->used_by_others -= user == ROOT ? 0 : amount;
	if (share->used)
		return;
	HASH_DEL(s->by_user, share);
	free(share);
}
