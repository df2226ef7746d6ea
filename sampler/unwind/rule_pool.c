/*
 * A hash table finds the number of a rule by its content. Numbers that are free form a list.
 */
#include "sampler/unwind/rule_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/untrusted/user_shares.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

struct pooled_rule {
	uint64_t key; /* the rule */
	uint32_t nr_tables, user;
	uint16_t number;
	UT_hash_handle hh;
};

struct rule_pool {
	pthread_mutex_t lock; /* guards everything here */
	struct walk_rule *rules;
	struct pooled_rule *by_key;
	struct pooled_rule **by_number; /* NULL: free, or fixed */
	uint16_t *unused;		/* numbers that were used before */
	uint32_t nr_unused, nr_numbers; /* nr_numbers: used so far, the fixed ones included */
	struct user_shares shares;
};

struct rule_pool *rule_pool_new(struct walk_rule *rules)
{
	struct rule_pool *pool = xcalloc(1, sizeof(*pool));

	pthread_mutex_init(&pool->lock, NULL);
	pool->rules = rules;
	pool->by_number = xcalloc(WALK_NR_RULES, sizeof(*pool->by_number));
	pool->unused = xcalloc(WALK_NR_RULES, sizeof(*pool->unused));
	pool->nr_numbers = WALK_FIRST_RULE;
	rules[WALK_RULE_NONE] = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	rules[WALK_RULE_END] = (struct walk_rule){ .cfa = WALK_CFA_END };
	rules[WALK_RULE_OVER_LIMIT] = (struct walk_rule){ .cfa = WALK_CFA_OVER_LIMIT };
	user_shares_init(&pool->shares, WALK_MAX_RULES - WALK_FIRST_RULE);
	return pool;
}

void rule_pool_free(struct rule_pool *pool)
{
	if (!pool)
		return;
	HASH_CLEAR(hh, pool->by_key);
	for (uint32_t i = 0; i < pool->nr_numbers; i++)
		free(pool->by_number[i]);
	free(pool->by_number);
	free(pool->unused);
	user_shares_fini(&pool->shares);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static struct pooled_rule *add_rule(struct rule_pool *pool, uint32_t user, struct walk_rule rule)
{
	struct pooled_rule *r = xcalloc(1, sizeof(*r));

	r->key = rule_key(rule);
	r->user = user;
	r->number =
		(uint16_t)(pool->nr_unused ? pool->unused[--pool->nr_unused] : pool->nr_numbers++);
	HASH_ADD(hh, pool->by_key, key, sizeof(r->key), r);
	pool->by_number[r->number] = r;
	pool->rules[r->number] = rule;
	return r;
}

static enum rule_refusal find_rule(struct rule_pool *pool, uint32_t user, struct walk_rule rule,
				   struct pooled_rule **ret)
{
	uint64_t key = rule_key(rule);

	HASH_FIND(hh, pool->by_key, &key, sizeof(key), *ret);
	if (*ret)
		return RULES_GRANTED;
	switch (user_shares_take(&pool->shares, user, 1)) {
	case SHARE_TAKEN: break;
	case SHARE_USER_FULL: return RULES_OVER_USER;
	default: return RULES_OVER_POOL;
	}
	*ret = add_rule(pool, user, rule);
	return RULES_GRANTED;
}

/* Claims the rules of a set: numbers[] has the pool's number of each. */
static enum rule_refusal claim_rules(struct rule_pool *pool, uint32_t user, struct rule_set *set,
				     uint16_t *numbers, struct rule_claim *claim)
{
	enum rule_refusal result = RULES_GRANTED;
	uint32_t nr;
	const struct walk_rule *rules = rule_set_rules(set, &nr);

	claim->numbers = xcalloc(nr, sizeof(*claim->numbers));
	for (uint32_t i = 0; i < nr; i++) {
		enum rule_refusal refusal = RULES_OVER_FILE;
		struct pooled_rule *r = NULL;

		numbers[i] = i < WALK_FIRST_RULE ? (uint16_t)i : WALK_RULE_OVER_LIMIT;
		if (i < WALK_FIRST_RULE)
			continue;
		if (claim->nr < RULES_PER_FILE)
			refusal = find_rule(pool, user, rules[i], &r);
		if (!r) {
			result = refusal;
			continue;
		}
		r->nr_tables++;
		numbers[i] = r->number;
		claim->numbers[claim->nr++] = r->number;
	}
	return result;
}

static uint32_t renumber(uint32_t word, const uint16_t *numbers)
{
	return (word & 0xffff0000u) | numbers[walk_row_rule(word)];
}

enum rule_refusal rule_pool_adopt(struct rule_pool *pool, uint32_t user, struct rule_set *set,
				  struct unwind_table *table, struct rule_claim *ret_claim)
{
	uint16_t *numbers = xcalloc(WALK_NR_RULES, sizeof(*numbers));
	enum rule_refusal result;

	*ret_claim = (struct rule_claim){ 0 };
	pthread_mutex_lock(&pool->lock);
	result = claim_rules(pool, user, set, numbers, ret_claim);
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t i = 0; i < table->nr_pages; i++)
		if (table->pages[i] & WALK_ONE_RULE)
			table->pages[i] = renumber(table->pages[i], numbers);
	for (uint32_t i = 0; i < table->nr_words; i++)
		table->words[i] = renumber(table->words[i], numbers);
	free(numbers);
	return result;
}

static void forget_rule(struct rule_pool *pool, struct pooled_rule *r)
{
	HASH_DEL(pool->by_key, r);
	pool->by_number[r->number] = NULL;
	pool->unused[pool->nr_unused++] = r->number;
	user_shares_give(&pool->shares, r->user, 1);
	free(r);
}

void rule_pool_release(struct rule_pool *pool, struct rule_claim *claim)
{
	pthread_mutex_lock(&pool->lock);
	for (uint32_t i = 0; i < claim->nr; i++) {
		struct pooled_rule *r = pool->by_number[claim->numbers[i]];

		if (!--r->nr_tables)
			forget_rule(pool, r);
	}
	pthread_mutex_unlock(&pool->lock);
	free(claim->numbers);
	*claim = (struct rule_claim){ 0 };
}
