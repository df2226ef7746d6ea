/*
 * The rules that walkers read: all rules of all tables that are in use, each once. A rule is
 * counted by the tables that name it, and its number is given to another rule when the last of them
 * is gone. No file and no user can fill the pool. Several threads may use one pool.
 */
#ifndef SPROF_RULE_POOL_H
#define SPROF_RULE_POOL_H

#include <stdint.h>

#include "core/portable/walk.h"

struct rule_pool;
struct rule_set;
struct unwind_table;

/* The rules that a table holds in the pool. */
struct rule_claim {
	uint16_t *numbers;
	uint32_t nr;
};

/* What a table's rules were refused for; rows without their rule have WALK_RULE_OVER_LIMIT. */
enum rule_refusal {
	RULES_GRANTED = 0,
	RULES_OVER_FILE, /* one file has too many */
	RULES_OVER_USER, /* the files of one user have too many */
	RULES_OVER_POOL, /* the pool is full */
};

/* One file has at most this many rules: Chromium, the largest program seen, has 1600. */
#define RULES_PER_FILE (WALK_NR_RULES / 8)

/*
 * rules[] has room for WALK_NR_RULES. A rule is in it before rule_pool_adopt() returns a table that
 * names it.
 */
struct rule_pool *rule_pool_new(struct walk_rule *rules);
void rule_pool_free(struct rule_pool *pool);

/*
 * Changes the numbers of a table that was built with a set of its own to those of the pool. New
 * rules are charged to `user`. *ret_claim is the caller's, to be released.
 */
enum rule_refusal rule_pool_adopt(struct rule_pool *pool, uint32_t user, struct rule_set *set,
				  struct unwind_table *table, struct rule_claim *ret_claim);
/* No walker reads rows of the table any more. Frees the claim's memory and leaves it empty. */
void rule_pool_release(struct rule_pool *pool, struct rule_claim *claim);

#endif
