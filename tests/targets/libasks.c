/*
 * The library of python_asks.py: blocks that Python asks for, and 40 MB that a thread of its own
 * takes.
 */
#include <pthread.h>
#include <stdlib.h>

static pthread_t thread;

void keep(long rounds, long size)
{
	for (long i = 0; i < rounds; i++)
		__asm__ volatile("" : : "r"(malloc((size_t)size)) : "memory");
}

static void *work(void *unused)
{
	keep(40000, 1000);
	return unused;
}

void start(void)
{
	pthread_create(&thread, NULL, work, NULL);
}

void join(void)
{
	pthread_join(thread, NULL);
}
