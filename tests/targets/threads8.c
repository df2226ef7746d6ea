// Eight threads, worker-1 ... worker-8, each in a function of its own; worker-N takes N/36 of the
// time.
#include "tests/targets/work.h"

#include <pthread.h>
#include <stdbool.h>

#define WORK(n)                                                                                    \
	NOIPA void work_##n(void)                                                                  \
	{                                                                                          \
		BURN(4 * n);                                                                       \
	}

/* clang-format off */
WORK(1) WORK(2) WORK(3) WORK(4) WORK(5) WORK(6) WORK(7) WORK(8)
	/* clang-format on */

	static void (*const work[])(void) = { work_1, work_2, work_3, work_4,
					      work_5, work_6, work_7, work_8 };
static pthread_barrier_t round_begins, round_ends;
static bool finished; /* written between the rounds */
static uint64_t ns_of[9];

static bool enough(uint64_t budget)
{
	uint64_t sum = 0;

	for (int n = 1; n <= 8; n++)
		sum += ns_of[n];
	return sum >= budget;
}

/* Works in rounds, so that the shares are the same in every part of the run. */
NOIPA void *worker(void *arg)
{
	uintptr_t n = (uintptr_t)arg;
	uint64_t ns = 0;
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)n);
	prctl(PR_SET_NAME, name);
	while (pthread_barrier_wait(&round_begins), !finished) {
		TIMED(ns, work[n - 1]());
		ns_of[n] = ns;
		pthread_barrier_wait(&round_ends);
	}
	truth(ns, "worker;work_%d", (int)n);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv);
	pthread_t threads[8];

	if (pthread_barrier_init(&round_begins, NULL, 9) ||
	    pthread_barrier_init(&round_ends, NULL, 9))
		return 1;
	for (uintptr_t i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(i + 1)))
			return 1;
	while (pthread_barrier_wait(&round_begins), !finished) {
		pthread_barrier_wait(&round_ends);
		finished = enough(budget);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
