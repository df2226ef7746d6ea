// BUILD: -ldl -Wl,-rpath,$ORIGIN
/*
 * loader_locked MILLISECONDS: one thread loads libslow.so, whose constructor keeps the loader
 * locked, while the first thread waits in poll(2) in steps of 20 ms.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(void *argument)
{
	void **library = argument;

	*library = dlopen("libslow.so", RTLD_NOW); /* dlopen uses its caller's RUNPATH */
	return NULL;
}

int main(int argc, char **argv)
{
	int steps = (argc > 1 ? atoi(argv[1]) : 1000) / 20, bad = 0;
	void *library = NULL;
	pthread_t thread;

	pthread_create(&thread, NULL, load, &library);
	for (int i = 0; i < steps; i++)
		bad += poll(NULL, 0, 20) != 0;
	pthread_join(thread, NULL);
	printf("bad %d\n", bad + !library);
	return bad || !library;
}
