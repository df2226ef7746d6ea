/*
 * Interns walk rules: equal rules have one number, the index in a plain array that walkers load.
 * Numbers never change. Several threads may use one set.
 */
#ifndef SPROF_RULE_SET_H
#define SPROF_RULE_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/portable/walk.h"

struct rule_set;

/* All of a rule as a number: the key by which tables find it. */
static inline uint64_t rule_key(struct walk_rule rule)
{
	uint64_t key;

	_Static_assert(sizeof(key) == sizeof(rule), "no rest");
	memcpy(&key, &rule, sizeof(key));
	return key;
}

/*
 * The number of a rule, which is added if it is new; WALK_CFA_NONE, _END and _OVER_LIMIT have fixed
 * numbers. false: the set is full (WALK_MAX_RULES), and *ret_number is WALK_RULE_OVER_LIMIT.
 */
bool rule_set_intern(struct rule_set *set, struct walk_rule rule, uint32_t *ret_number);

/* The number of rules, the fixed ones included. */
uint32_t rule_set_nr(struct rule_set *set);

#endif
