/*
 * A thread marks its slot and then looks at the gate; the thread that closes the gate waits a while
 * and then looks at the slots. The wait stands for the fence that would cost each launch some ns: a
 * store is visible to all CPUs long before.
 */
#include "gpu/agent/cupti/launch_gate.h"

#include "gpu/agent/base/lock.h"
#include "gpu/agent/base/thread.h"

#define CUPTI_DISABLES_SAFELY 130001u /* CUDA 13.0 update 1 */
#define VISIBLE_US 1000
#define TRIES 50 /* 1 ms apart */
#define WAIT_US 100
#define WAITS 1000

static bool needed;    /* atomic */
static bool is_closed; /* atomic */

void launch_gate_init(uint32_t cupti_version)
{
	__atomic_store_n(&needed, cupti_version < CUPTI_DISABLES_SAFELY, __ATOMIC_RELAXED);
}

bool launch_gate_is_needed(void)
{
	return __atomic_load_n(&needed, __ATOMIC_RELAXED);
}

void launch_gate_enter(void)
{
	struct thread *t = thread_self();

	if (!t)
		return;
	__atomic_store_n(&t->in_launch, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WAITS && __atomic_load_n(&is_closed, __ATOMIC_ACQUIRE); i++) {
		__atomic_store_n(&t->in_launch, 0, __ATOMIC_RELEASE);
		agent_pause_us(WAIT_US);
		__atomic_store_n(&t->in_launch, 1, __ATOMIC_RELAXED);
	}
}

void launch_gate_leave(void)
{
	struct thread *t = thread_self();

	if (t)
		__atomic_store_n(&t->in_launch, 0, __ATOMIC_RELEASE);
}

static bool leaves(struct thread *t)
{
	for (int i = 0; i < TRIES && __atomic_load_n(&t->in_launch, __ATOMIC_ACQUIRE); i++)
		agent_pause_us(1000);
	return !__atomic_load_n(&t->in_launch, __ATOMIC_ACQUIRE);
}

bool launch_gate_close(void)
{
	struct thread *t;

	if (!launch_gate_is_needed())
		return true;
	__atomic_store_n(&is_closed, true, __ATOMIC_SEQ_CST);
	agent_pause_us(VISIBLE_US);
	for (uint32_t i = 0; (t = thread_at(i)); i++)
		if (__atomic_load_n(&t->used, __ATOMIC_ACQUIRE) && !leaves(t)) {
			launch_gate_open();
			return false;
		}
	return true;
}

void launch_gate_open(void)
{
	__atomic_store_n(&is_closed, false, __ATOMIC_RELEASE);
}
