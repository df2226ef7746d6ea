/*
 * dlclose(3): before a library is unmapped, the recorder reads the samples that were taken in it,
 * while it is still known what lies there. A library that is loaded needs no such care: a sample in
 * it lies in no known mapping, which has the recorder read the mappings again.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/join.h"
#include "sampler/agent/preload.h"

typedef int (*close_function)(void *);

static close_function real_close(void)
{
	static close_function real;
	close_function found = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (!found) {
		found = (close_function)agent_next_function("dlclose");
		__atomic_store_n(&real, found, __ATOMIC_RELAXED);
	}
	return found;
}

int dlclose(void *handle)
{
	close_function real = real_close();
	struct agent_region *r;
	int result;

	if (!real)
		return -1;
	r = agent_hold();
	if (r && __atomic_load_n(&r->state, __ATOMIC_RELAXED) == AGENT_ON)
		agent_settle();
	/* Destructors of the library may take long, or not return: nothing is held meanwhile. */
	agent_let_go();
	result = real(handle);
	/*
	 * The tables no longer describe these addresses until the recorder has written them again.
	 */
	r = agent_hold();
	if (r)
		__atomic_fetch_add(&r->maps_epoch, 1, __ATOMIC_RELEASE);
	agent_let_go();
	return result;
}
