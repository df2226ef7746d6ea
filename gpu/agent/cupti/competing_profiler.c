/* See competing_profiler.h. */
#include "gpu/agent/cupti/competing_profiler.h"

#include "gpu/agent/agent.h"
#include "gpu/agent/cupti/collect.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/base/image.h"
#include "gpu/agent/base/imports.h"

static bool is_watching;
static uint32_t has_buffers; /* atomic */

/*
 * The lock is held until the other one has been served, or we would be there first again. Where it cannot be had, a
 * second has gone by, and the other one gets what CUPTI gives it.
 */
static bool make_way(const void *caller, bool subscribes)
{
	bool locked = *agent.alive && agent_lock();

	if (locked)
		collect_make_way(caller, subscribes);
	return locked;
}

static int subscribed(bool locked, int err)
{
	if (!err) /* from here on CUPTI says when it is free */
		__atomic_store_n(&has_buffers, 0, __ATOMIC_RELAXED);
	if (locked)
		agent_unlock();
	return err;
}

static int subscribe(void **ret_subscriber, cupti_callback_fn callback, void *user)
{
	bool locked = make_way(__builtin_return_address(0), true);

	return subscribed(locked, cupti.subscribe(ret_subscriber, callback, user));
}

static int subscribe_v2(void **ret_subscriber, cupti_callback_fn callback, void *user,
			struct cupti_subscriber_params *params)
{
	bool locked = make_way(__builtin_return_address(0), true);

	return subscribed(locked, cupti.subscribe_v2(ret_subscriber, callback, user, params));
}

static int register_callbacks(cupti_buffer_requested_fn requested,
			      cupti_buffer_completed_fn completed)
{
	bool locked = make_way(__builtin_return_address(0), false);
	int err = cupti.register_callbacks(requested, completed);

	if (locked) {
		if (!err && collect_made_way())
			__atomic_store_n(&has_buffers, 1, __ATOMIC_RELAXED);
		agent_unlock();
	}
	return err;
}

static void exchange(bool back)
{
	const struct import imports[] = {
		{ "cuptiSubscribe", (uintptr_t)cupti.subscribe, (uintptr_t)subscribe },
		{ "cuptiSubscribe_v2", (uintptr_t)cupti.subscribe_v2, (uintptr_t)subscribe_v2 },
		{ "cuptiActivityRegisterCallbacks", (uintptr_t)cupti.register_callbacks,
		  (uintptr_t)register_callbacks },
	};

	imports_exchange("libcupti.so", imports, sizeof(imports) / sizeof(imports[0]), back);
}

void competing_profiler_watch(void)
{
	/* with two copies it could not be said whose function a stub would find */
	if (!is_watching && image_find("libcupti.so", NULL) != 1)
		return;
	is_watching = true;
	exchange(false);
}

void competing_profiler_ignore(void)
{
	if (is_watching)
		exchange(true);
	is_watching = false;
	__atomic_store_n(&has_buffers, 0, __ATOMIC_RELAXED);
}

bool competing_profiler_has_buffers(void)
{
	return __atomic_load_n(&has_buffers, __ATOMIC_RELAXED);
}
