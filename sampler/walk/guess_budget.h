/*
 * How much work the recorder does for guesses in the stacks of one process, and in those of one
 * user's processes (guess_caller.h). A process that makes every sample as expensive as it can uses
 * up its own budget, and then its callers are not guessed until time has filled the budget again.
 * A user with a thousand such processes uses up the user's. The tables have a fixed size;
 * processes or users that share an entry share its budget.
 */
#ifndef SPROF_GUESS_BUDGET_H
#define SPROF_GUESS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define GUESS_BUDGETS 256u
#define GUESS_USER_BUDGETS 64u

struct guess_budget {
	uint64_t full_at_ns[GUESS_BUDGETS], user_full_at_ns[GUESS_USER_BUDGETS]; /* time_budget.h */
	uint64_t nr_refused;
};

/* May the process have callers guessed now? A refusal is counted. */
bool guess_budget_allows(struct guess_budget *budget, uint32_t process, uint32_t user,
			 uint64_t now_ns);
void guess_budget_use(struct guess_budget *budget, uint32_t process, uint32_t user, uint64_t now_ns,
		      unsigned int steps);

#endif
