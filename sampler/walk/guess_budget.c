/*
 * An entry holds one number: the moment at which the budget is full again. Each step moves it
 * forward by the time that fills a step; the budget is used up while it is a second ahead or more.
 */
#include "sampler/walk/guess_budget.h"

#define STEPS_PER_S 500000u /* of 60 ns each: 3 % of a CPU, see tests/bench/hostile.bash */
#define NS_PER_STEP (1000000000u / STEPS_PER_S)
#define FULL_NS 1000000000u

bool guess_budget_allows(struct guess_budget *b, uint32_t process, uint64_t now_ns)
{
	uint64_t full_ns = b->used_ns[process % GUESS_BUDGETS];

	if (full_ns <= now_ns || full_ns - now_ns < FULL_NS)
		return true;
	b->nr_refused++;
	return false;
}

void guess_budget_use(struct guess_budget *b, uint32_t process, uint64_t now_ns, unsigned int steps)
{
	uint64_t *full_ns = &b->used_ns[process % GUESS_BUDGETS];

	*full_ns = (*full_ns > now_ns ? *full_ns : now_ns) + (uint64_t)steps * NS_PER_STEP;
}
