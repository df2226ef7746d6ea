/*
 * moments THREADS MILLISECONDS: many threads that each work for a moment now and then, like those
 * of a server, so that each uses only a few ticks of CPU time.
 */
#include "tests/targets/work.h"

#include <pthread.h>
#include <unistd.h>

#define MAX 2000

static struct timespec end;

static int is_over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec);
}

static void *work(void *argument)
{
	unsigned int seed = (unsigned int)(uintptr_t)argument + 1;

	while (!is_over()) {
		for (volatile int i = 0; i < 50000; i++)
			;
		usleep(20000 + (unsigned int)rand_r(&seed) % 80000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 1, ms = argc > 2 ? atol(argv[2]) : 1000;
	static pthread_t threads[MAX];

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	if (nr > MAX)
		return 2;
	for (long i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (long i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
