/*
 * pthread_create(3): a thread that is created while the program is sampled starts at
 * agent_thread_entry, which lets preload_threads.c make its timer before the thread's own function
 * runs.
 */
#include "sampler/agent/preload.h"

#define EAGAIN 11

typedef int (*create_function)(void *, const void *, void *(*)(void *), void *);

static create_function real_create(void)
{
	static create_function real;
	create_function found = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (!found) {
		found = (create_function)agent_next_function("pthread_create");
		__atomic_store_n(&real, found, __ATOMIC_RELAXED);
	}
	return found;
}

__attribute__((visibility("default"))) int pthread_create(void *thread, const void *attributes,
							  void *(*start)(void *), void *argument)
{
	create_function real = real_create();
	struct agent_start *with;
	int err;

	if (!real)
		return EAGAIN;
	with = agent_take_start();
	if (!with)
		return real(thread, attributes, start, argument);
	with->thread.start = start;
	with->thread.argument = argument;
	err = real(thread, attributes, agent_thread_entry, with);
	if (err)
		__atomic_store_n(&with->taken, 0, __ATOMIC_RELEASE);
	return err;
}
