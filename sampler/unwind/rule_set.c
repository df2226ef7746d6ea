/*
 * Open addressing: a table of 16-bit rule numbers beside the array of rules, which is its only key.
 */
#include "sampler/unwind/rule_set.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "sampler/unwind/unwind_table.h"

#define FIRST_SLOTS_SHIFT 12

struct rule_set {
	pthread_mutex_t lock; /* guards everything here */
	struct walk_rule *rules;
	size_t capacity;
	uint32_t nr;
	uint16_t *slots; /* rule numbers; 0 = empty: rule 0 is never in it */
	unsigned int slots_shift;
};

/* The slot with the key, or the empty one for it. */
static uint16_t *find_slot(const struct rule_set *set, uint64_t key)
{
	size_t mask = ((size_t)1 << set->slots_shift) - 1;
	/* Fibonacci hashing: the high bits of the product are the mixed ones. */
	size_t slot = (key * 0x9e3779b97f4a7c15ull) >> (64 - set->slots_shift);

	while (set->slots[slot] && rule_key(set->rules[set->slots[slot]]) != key)
		slot = (slot + 1) & mask;
	return &set->slots[slot];
}

static void append(struct rule_set *set, struct walk_rule rule)
{
	set->rules = xgrow(set->rules, &set->capacity, set->nr + 1, sizeof(*set->rules));
	set->rules[set->nr++] = rule;
}

static void grow_slots(struct rule_set *set)
{
	set->slots_shift++;
	free(set->slots);
	set->slots = xcalloc((size_t)1 << set->slots_shift, sizeof(*set->slots));
	for (uint32_t i = WALK_FIRST_RULE; i < set->nr; i++)
		*find_slot(set, rule_key(set->rules[i])) = (uint16_t)i;
}

struct rule_set *rule_set_new(void)
{
	struct rule_set *set = xcalloc(1, sizeof(*set));

	pthread_mutex_init(&set->lock, NULL);
	set->slots_shift = FIRST_SLOTS_SHIFT;
	set->slots = xcalloc((size_t)1 << set->slots_shift, sizeof(*set->slots));
	append(set, (struct walk_rule){ .cfa = WALK_CFA_NONE });
	append(set, (struct walk_rule){ .cfa = WALK_CFA_END });
	append(set, (struct walk_rule){ .cfa = WALK_CFA_OVER_LIMIT });
	return set;
}

void rule_set_free(struct rule_set *set)
{
	if (!set)
		return;
	free(set->rules);
	free(set->slots);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

const struct walk_rule *rule_set_rules(const struct rule_set *set, uint32_t *ret_nr)
{
	*ret_nr = set->nr;
	return set->rules;
}

uint32_t rule_set_nr(struct rule_set *set)
{
	uint32_t nr;

	pthread_mutex_lock(&set->lock);
	nr = set->nr;
	pthread_mutex_unlock(&set->lock);
	return nr;
}

/* The number of a rule other than the fixed ones; WALK_RULE_OVER_LIMIT: the set is full. */
static uint32_t intern(struct rule_set *set, struct walk_rule rule)
{
	uint16_t *slot = find_slot(set, rule_key(rule));

	if (*slot)
		return *slot;
	if (set->nr == WALK_MAX_RULES)
		return WALK_RULE_OVER_LIMIT;
	if (set->nr >= (1u << set->slots_shift) / 2) {
		grow_slots(set);
		slot = find_slot(set, rule_key(rule));
	}
	*slot = (uint16_t)set->nr;
	append(set, rule);
	return *slot;
}

bool rule_set_intern(struct rule_set *set, struct walk_rule rule, uint32_t *ret_number)
{
	if (rule.cfa == WALK_CFA_NONE || rule.cfa == WALK_CFA_END) {
		*ret_number = rule.cfa == WALK_CFA_NONE ? WALK_RULE_NONE : WALK_RULE_END;
		return true;
	}
	pthread_mutex_lock(&set->lock);
	*ret_number = intern(set, rule);
	pthread_mutex_unlock(&set->lock);
	return *ret_number != WALK_RULE_OVER_LIMIT;
}
