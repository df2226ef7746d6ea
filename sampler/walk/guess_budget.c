/*
 * The budget of a process is a second, and each step of a guess uses NS_PER_STEP of it. So it
 * allows STEPS_PER_S steps at once, and as many in each second after that.
 */
#include "sampler/walk/guess_budget.h"

#include "core/untrusted/time_budget.h"

#define STEPS_PER_S 500000u /* of 60 ns each: 3 % of a CPU, see tests/bench/hostile.bash */
#define NS_PER_STEP (1000000000u / STEPS_PER_S)
#define USER_SHARE 2u	    /* a user has as much as that many processes */
#define FULL_NS 1000000000u /* the budget */

bool guess_budget_allows(struct guess_budget *b, uint32_t process, uint32_t user, uint64_t now_ns)
{
	if (!time_budget_is_used_up(b->full_at_ns[process % GUESS_BUDGETS], now_ns, FULL_NS) &&
	    !time_budget_is_used_up(b->user_full_at_ns[user % GUESS_USER_BUDGETS], now_ns, FULL_NS))
		return true;
	b->nr_refused++;
	return false;
}

void guess_budget_use(struct guess_budget *b, uint32_t process, uint32_t user, uint64_t now_ns,
		      unsigned int steps)
{
	uint64_t ns = (uint64_t)steps * NS_PER_STEP;

	time_budget_use(&b->full_at_ns[process % GUESS_BUDGETS], now_ns, ns);
	time_budget_use(&b->user_full_at_ns[user % GUESS_USER_BUDGETS], now_ns, ns / USER_SHARE);
}
