/*
 * The import tables of other modules are made to point to the four functions below; each gives up
 * our subscription and then calls the real one. Kineto registers its clock first, then its buffers,
 * and may never subscribe: what we still have is read before the clock changes. The lock is held until the real function has
 * returned: otherwise our own retry could subscribe first.
 */
#include "gpu/agent/cupti/competing_profiler.h"

#include "gpu/agent/base/image.h"
#include "gpu/agent/base/imports.h"
#include "gpu/agent/base/lock.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/cupti/subscription.h"

static bool is_watching;
static uint32_t has_buffers; /* atomic */
static bool has_clock;	     /* we gave up when a tool registered its clock, which is not all */

/* Our side of an intercepted call. */
struct way {
	bool locked;  /* if not, the caller gets what CUPTI gives it */
	bool gave_up; /* we had a subscription */
};

static struct way make_way(void)
{
	struct way w = { .locked = *agent.alive && agent_lock() };

	if (w.locked)
		w.gave_up = subscription_make_way();
	return w;
}

/* `caller` is an address in the code of the other tool. */
static void report_way(const void *caller, bool subscribes)
{
	struct text text = { .length = 0 };
	struct image image;

	if (image_at(caller, &image) && image.path[0])
		text_add(&text, image_name(&image));
	else
		text_add(&text, "the program");
	if (subscribes) {
		text_add(&text,
			 " subscribes to CUPTI and gets it: GPU data continues when CUPTI is free "
			 "(tried every 5 s)");
		report(GPU_FAIL_FOREIGN, 0, &text);
	} else {
		text_add(&text,
			 " records with CUPTI without subscribing to it: no GPU data from here on");
		report(GPU_FAIL_BUFFERS_TAKEN, 0, &text);
	}
}

static int subscribed(struct way w, const void *caller, int err)
{
	if (w.locked && (w.gave_up || has_clock))
		report_way(caller, true);
	if (!err) /* from here on CUPTI itself tells when it is free */
		__atomic_store_n(&has_buffers, 0, __ATOMIC_RELAXED);
	if (w.locked) {
		has_clock = false;
		agent_unlock();
	}
	return err;
}

static int subscribe(void **ret_subscriber, cupti_callback_fn callback, void *user)
{
	const void *caller = __builtin_return_address(0);
	struct way w = make_way();

	return subscribed(w, caller, cupti.subscribe(ret_subscriber, callback, user));
}

static int subscribe_v2(void **ret_subscriber, cupti_callback_fn callback, void *user,
			struct cupti_subscriber_params *params)
{
	const void *caller = __builtin_return_address(0);
	struct way w = make_way();

	return subscribed(w, caller, cupti.subscribe_v2(ret_subscriber, callback, user, params));
}

static int register_clock(cupti_timestamp_fn timestamp)
{
	struct way w = make_way();
	int err = cupti.register_timestamp(timestamp);

	if (w.locked) {
		has_clock |= w.gave_up;
		agent_unlock();
	}
	return err;
}

static int register_callbacks(cupti_buffer_requested_fn requested,
			      cupti_buffer_completed_fn completed)
{
	struct way w = make_way();
	int err = cupti.register_callbacks(requested, completed);

	if (w.locked && !err && (w.gave_up || has_clock)) {
		report_way(__builtin_return_address(0), false);
		__atomic_store_n(&has_buffers, 1, __ATOMIC_RELAXED);
	}
	if (w.locked) {
		has_clock = false;
		agent_unlock();
	}
	return err;
}

static void exchange(bool back)
{
	const struct import imports[] = {
		{ "cuptiSubscribe", (uintptr_t)cupti.subscribe, (uintptr_t)subscribe },
		{ "cuptiSubscribe_v2", (uintptr_t)cupti.subscribe_v2, (uintptr_t)subscribe_v2 },
		{ "cuptiActivityRegisterTimestampCallback", (uintptr_t)cupti.register_timestamp,
		  (uintptr_t)register_clock },
		{ "cuptiActivityRegisterCallbacks", (uintptr_t)cupti.register_callbacks,
		  (uintptr_t)register_callbacks },
	};

	imports_exchange("libcupti.so", imports, sizeof(imports) / sizeof(imports[0]), back);
}

void competing_profiler_watch(void)
{
	/* with two copies of libcupti it is unknown which one a module's stub would find */
	if (!is_watching && image_find("libcupti.so", NULL) != 1)
		return;
	is_watching = true;
	exchange(false);
}

void competing_profiler_ignore(void)
{
	if (is_watching)
		exchange(true);
	is_watching = has_clock = false;
	__atomic_store_n(&has_buffers, 0, __ATOMIC_RELAXED);
}

bool competing_profiler_has_buffers(void)
{
	return __atomic_load_n(&has_buffers, __ATOMIC_RELAXED);
}
