/*
 * An entry holds one number: the moment at which the budget is full again. Each step moves it
 * forward by the time that fills a step; the budget is used up while it is a second ahead or more.
 */
#include "sampler/walk/guess_budget.h"

#define STEPS_PER_S 500000u /* of 60 ns each: 3 % of a CPU, see tests/bench/hostile.bash */
#define NS_PER_STEP (1000000000u / STEPS_PER_S)
#define USER_SHARE 2u /* a user has as much as that many processes */
#define FULL_NS 1000000000u

static bool is_used_up(uint64_t full_ns, uint64_t now_ns)
{
	return full_ns > now_ns && full_ns - now_ns >= FULL_NS;
}

static void use(uint64_t *full_ns, uint64_t now_ns, uint64_t ns)
{
	*full_ns = (*full_ns > now_ns ? *full_ns : now_ns) + ns;
}

bool guess_budget_allows(struct guess_budget *b, uint32_t process, uint32_t user, uint64_t now_ns)
{
	if (!is_used_up(b->used_ns[process % GUESS_BUDGETS], now_ns) &&
	    !is_used_up(b->used_by_user_ns[user % GUESS_USER_BUDGETS], now_ns))
		return true;
	b->nr_refused++;
	return false;
}

void guess_budget_use(struct guess_budget *b, uint32_t process, uint32_t user, uint64_t now_ns,
		      unsigned int steps)
{
	uint64_t ns = (uint64_t)steps * NS_PER_STEP;

	use(&b->used_ns[process % GUESS_BUDGETS], now_ns, ns);
	use(&b->used_by_user_ns[user % GUESS_USER_BUDGETS], now_ns, ns / USER_SHARE);
}
