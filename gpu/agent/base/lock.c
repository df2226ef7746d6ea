/*
 * A flag that is polled every 200 us: waiters are rare, and a futex or a pthread mutex would have
 * to be found in whichever C library the target has.
 */
#include "gpu/agent/base/lock.h"

#include <stdint.h>
#include <time.h>

#define TRIES 5000
#define TRY_US 200

static uint32_t busy; /* atomic */

void agent_pause_us(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

bool agent_lock(void)
{
	for (int i = 0; i < TRIES; i++) {
		if (!__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
			return true;
		agent_pause_us(TRY_US);
	}
	return false;
}

void agent_lock_in_child(void)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

void agent_unlock(void)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
