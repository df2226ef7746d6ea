/*
 * The library of python_asks.py: blocks that Python asks for, and 40 MB that a thread of its own
 * takes. And of python_alloc.py: blocks of Python's pools that grow.
 */
#include <pthread.h>
#include <stdlib.h>

static pthread_t thread;

void keep(long rounds, long size)
{
	for (long i = 0; i < rounds; i++)
		__asm__ volatile("" : : "r"(malloc((size_t)size)) : "memory");
}

/* Of the program that has loaded us. */
void *PyObject_Malloc(size_t size) __attribute__((weak));
void *PyObject_Calloc(size_t number, size_t size) __attribute__((weak));
void *PyObject_Realloc(void *block, size_t size) __attribute__((weak));
void PyObject_Free(void *block) __attribute__((weak));

/* Each has 20, 100 and 400 bytes, or 40 and 300, in turn; of each kind every other one stays. */
void grow(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		char *block = i & 1 ? PyObject_Calloc(5, 8) : PyObject_Malloc(20);

		if (i & 1) {
			block = PyObject_Realloc(block, 300);
		} else {
			block[19] = (char)i;
			block = PyObject_Realloc(PyObject_Realloc(block, 100), 400);
			if (block[19] != (char)i)
				abort();
		}
		if (i & 2)
			PyObject_Free(block);
	}
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
