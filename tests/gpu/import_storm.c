/*
 * Exchanges imports (gpu/agent/base/imports.c) while modules come and go: one thread loads
 * libraries that import answer(), calls it and unloads them; two others exchange the import all the
 * time. Every call must reach the function, directly or through ours.
 *
 *	import_storm CYCLES LIBRARY...
 *
 * -DDEPENDENCY builds the library that has answer(), -DUSER one that imports it.
 */
#ifdef DEPENDENCY
int answer(int n)
{
	return n + 1;
}
#elif defined(USER)
int answer(int n);
int use(int n)
{
	return answer(n);
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/agent/base/imports.h"

static int (*real)(int);
static long nr_met;
static int is_over;

static int ours(int n)
{
	__atomic_fetch_add(&nr_met, 1, __ATOMIC_RELAXED);
	return real(n);
}

static void *exchange(void *arg)
{
	const struct import import = { "answer", (uintptr_t)real, (uintptr_t)ours };

	(void)arg;
	for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); i++)
		imports_exchange("libanswer.so", &import, 1, i % 7 == 0);
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = dlopen("libanswer.so", RTLD_NOW | RTLD_GLOBAL);
	long cycles = atol(argv[1]), nr_wrong = 0;
	pthread_t threads[2];

	real = (int (*)(int))dlsym(library, "answer");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, exchange, NULL);
	for (long i = 0; i < cycles; i++) {
		void *user = dlopen(argv[2 + i % (argc - 2)], i % 2 ? RTLD_LAZY : RTLD_NOW);
		int (*use)(int) = (int (*)(int))dlsym(user, "use");

		for (int n = 0; n < 20; n++)
			nr_wrong += use(n) != n + 1;
		dlclose(user);
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("cycles %ld wrong %ld met %ld\n", cycles, nr_wrong, nr_met);
	return nr_wrong != 0;
}
#endif
