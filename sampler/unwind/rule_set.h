/*
 * Gives equal walk rules one number. A hash table of numbers beside the array of rules: what the
 * walkers load is the plain array. Several threads may use one set.
 */
#ifndef SPROF_RULE_SET_H
#define SPROF_RULE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/walk.h"

struct rule_set;

/*
 * The number of a rule, new or not; WALK_CFA_NONE and WALK_CFA_END have their fixed ones. false when
 * the set is full (WALK_MAX_RULES): *ret_number is then WALK_RULE_NONE.
 */
bool rule_set_intern(struct rule_set *set, struct walk_rule rule, uint32_t *ret_number);

/* How many there are, the two fixed ones included. */
uint32_t rule_set_nr(struct rule_set *set);
/* Copies those from number `nr` on, below `max`, to their places in rules[]. Returns how many are there now. */
uint32_t rule_set_copy(struct rule_set *set, struct walk_rule *rules, uint32_t nr, uint32_t max);

#endif
