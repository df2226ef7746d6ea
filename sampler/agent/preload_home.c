/*
 * The life of the region in a process that loaded libsprof.so. Retiring takes the pointer away
 * first, so a thread that comes in later does not find it; the last thread that was inside then
 * unmaps it.
 */
#include "sampler/agent/preload_home.h"

#include "sampler/agent/agent.h"
#include "sampler/agent/join.h"
#include "sampler/agent/syscall.h"

#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE_ANONYMOUS 0x22
#define MADV_WIPEONFORK 18
#define HOME_SIZE 8192

_Static_assert(sizeof(struct agent_own_home) <= HOME_SIZE, "what is mapped");

struct agent_own agent_own;

int agent_make_home(void)
{
	long page = agent_syscall6(__NR_mmap, 0, HOME_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE_ANONYMOUS, -1, 0);

	if (page < 0 && page > -4096)
		return 0;
	agent_own.home = (struct agent_own_home *)page;
	/*
	 * Before Linux 4.14 there is no such advice: then in_child() of preload.c clears it after
	 * fork(3).
	 */
	agent_syscall3(__NR_madvise, page, HOME_SIZE, MADV_WIPEONFORK);
	return 1;
}

struct agent_region *agent_home(void)
{
	return agent_own.home ? __atomic_load_n(&agent_own.home->region, __ATOMIC_ACQUIRE)
			      : (void *)0;
}

struct agent_region *agent_hold(void)
{
	if (!agent_own.home)
		return (void *)0;
	__atomic_fetch_add(&agent_own.home->inside, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&agent_own.home->region, __ATOMIC_SEQ_CST);
}

void agent_let_go(void)
{
	struct agent_own_home *home = agent_own.home;
	struct agent_region *r;

	if (!home || __atomic_sub_fetch(&home->inside, 1, __ATOMIC_SEQ_CST) ||
	    !__atomic_load_n(&home->retired, __ATOMIC_SEQ_CST))
		return;
	r = __atomic_exchange_n(&home->retired, (void *)0, __ATOMIC_SEQ_CST);
	if (!r)
		return;
	agent_free_slots(
		r); /* timers that were being made while agent_retire() deleted the others */
	agent_leave(r);
}

void agent_retire(struct agent_region *r)
{
	struct agent_region *was = r;

	if (!__atomic_compare_exchange_n(&agent_own.home->region, &was, (void *)0, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&agent_own.name, 0, __ATOMIC_RELAXED);
	agent_free_slots(r);
	__atomic_store_n(&agent_own.home->retired, r, __ATOMIC_SEQ_CST);
}
