/*
 * Gives equal walk rules one number. A hash table of numbers beside the array of rules: what the
 * walkers load is the plain array.
 */
#ifndef SPROF_RULE_SET_H
#define SPROF_RULE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/walk.h"

struct rule_set;

/*
 * The number of a rule, new or not; WALK_CFA_NONE and WALK_CFA_END have their fixed ones. false when
 * the set is full (WALK_MAX_RULES): *ret_number is then WALK_RULE_NONE.
 */
bool rule_set_intern(struct rule_set *set, struct walk_rule rule, uint32_t *ret_number);

#endif
