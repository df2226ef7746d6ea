/*
 * many_threads NR MS: so many threads, each of which works for 50 us once in ten seconds, below one
 * function of four, until all together have used MS of CPU time. Prints "ready" when all have
 * begun; 77 where there may not be so many.
 */
#include "tests/targets/work.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES (64u << 10)
#define TURN_NS 50000
#define PAUSE_S 10

static uint64_t left_ns;

#define WORK(name)                                                                                 \
	NOIPA void name(void)                                                                      \
	{                                                                                          \
		for (uint64_t end = cpu_ns() + TURN_NS; cpu_ns() < end;)                           \
			BURN(1);                                                                   \
		NO_TAIL_CALL();                                                                    \
	}

/* clang-format off */
WORK(work_a) WORK(work_b) WORK(work_c) WORK(work_d)
	/* clang-format on */

	static void *take_turns(void *arg)
{
	static void (*const work[])(void) = { work_a, work_b, work_c, work_d };
	size_t number = (size_t)arg;

	while (__atomic_load_n(&left_ns, __ATOMIC_RELAXED) >= TURN_NS) {
		work[number % 4]();
		__atomic_fetch_sub(&left_ns, TURN_NS, __ATOMIC_RELAXED);
		sleep(PAUSE_S);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? (size_t)atoi(argv[1]) : 1000;
	pthread_attr_t attr;
	pthread_t thread;

	left_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 2000) * 1000000;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (size_t i = 0; i < nr; i++) {
		int err = pthread_create(&thread, &attr, take_turns, (void *)i);

		if (err) {
			printf("no more than %zu threads: %s\n", i, strerror(err));
			return 77;
		}
	}
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
