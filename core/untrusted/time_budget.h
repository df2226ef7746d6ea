/*
 * A budget of time that elapsed time fills again, as one number: the moment at which it is full.
 * What is used moves that moment forward. The budget is used up while it lies a whole budget ahead.
 */
#ifndef SPROF_TIME_BUDGET_H
#define SPROF_TIME_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* `now_ns`: of any clock that does not go back. 0 in place of full_at_ns: nothing was used. */
static inline bool time_budget_is_used_up(uint64_t full_at_ns, uint64_t now_ns, uint64_t budget_ns)
{
	return full_at_ns > now_ns && full_at_ns - now_ns >= budget_ns;
}

/* What `ns` takes from the budget is filled again after as much elapsed time. */
static inline void time_budget_use(uint64_t *full_at_ns, uint64_t now_ns, uint64_t ns)
{
	*full_at_ns = (*full_at_ns > now_ns ? *full_at_ns : now_ns) + ns;
}

#endif
