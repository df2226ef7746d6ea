// BUILD: -ldl -Wl,-rpath,$ORIGIN
/* One thread loads libslow.so, the first one waits in poll(2) in 20 ms steps: loader_locked MILLISECONDS */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(void *argument)
{
	void **library = argument;

	*library = dlopen("libslow.so", RTLD_NOW); /* no tail call: the caller's RUNPATH counts */
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
