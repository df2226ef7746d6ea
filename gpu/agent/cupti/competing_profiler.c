/*
 * The import tables of other modules are made to point to the four functions below; each gives up
 * our subscription and then calls the real one. Kineto registers its clock first, then its buffers,
 * and may never subscribe: what we still have is read before the clock changes. The lock is held until the real function has
 * returned: otherwise our own retry could subscribe first.
 *
 * The program may have a libcupti of its own beside the one that we mapped. The driver serves one
 * at a time, and modules are bound to the program's: then that one has the real functions.
 */
#include "gpu/agent/cupti/competing_profiler.h"

#include "gpu/agent/base/image.h"
#include "gpu/agent/base/imports.h"
#include "gpu/agent/base/lock.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/cupti/subscription.h"

/* The functions that the program's modules are bound to. */
struct real {
	int (*subscribe)(void **, cupti_callback_fn, void *);
	int (*subscribe_v2)(void **, cupti_callback_fn, void *, struct cupti_subscriber_params *);
	int (*register_timestamp)(cupti_timestamp_fn);
	int (*register_callbacks)(cupti_buffer_requested_fn, cupti_buffer_completed_fn);
};

static struct real real; /* constant while we watch */
static bool is_watching;
static bool is_theirs;	     /* `real` is a copy of the program's own */
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

	return subscribed(w, caller, real.subscribe(ret_subscriber, callback, user));
}

static int subscribe_v2(void **ret_subscriber, cupti_callback_fn callback, void *user,
			struct cupti_subscriber_params *params)
{
	const void *caller = __builtin_return_address(0);
	struct way w = make_way();

	return subscribed(w, caller, real.subscribe_v2(ret_subscriber, callback, user, params));
}

static int register_clock(cupti_timestamp_fn timestamp)
{
	struct way w = make_way();
	int err = real.register_timestamp(timestamp);

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
	int err = real.register_callbacks(requested, completed);

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
		{ "cuptiSubscribe", (uintptr_t)real.subscribe, (uintptr_t)subscribe },
		{ "cuptiSubscribe_v2", (uintptr_t)real.subscribe_v2, (uintptr_t)subscribe_v2 },
		{ "cuptiActivityRegisterTimestampCallback", (uintptr_t)real.register_timestamp,
		  (uintptr_t)register_clock },
		{ "cuptiActivityRegisterCallbacks", (uintptr_t)real.register_callbacks,
		  (uintptr_t)register_callbacks },
	};

	imports_exchange("libcupti.so", imports, sizeof(imports) / sizeof(imports[0]), back);
}

static void *find(const struct image *theirs, const char *name, void *bound)
{
	return theirs ? image_symbol(theirs, name) : bound;
}

static void set_real(const struct image *theirs)
{
	real.subscribe = (int (*)(void **, cupti_callback_fn, void *))find(theirs, "cuptiSubscribe",
									   (void *)cupti.subscribe);
	real.subscribe_v2 =
		(int (*)(void **, cupti_callback_fn, void *, struct cupti_subscriber_params *))find(
			theirs, "cuptiSubscribe_v2", (void *)cupti.subscribe_v2);
	real.register_timestamp = (int (*)(cupti_timestamp_fn))find(
		theirs, "cuptiActivityRegisterTimestampCallback", (void *)cupti.register_timestamp);
	real.register_callbacks =
		(int (*)(cupti_buffer_requested_fn, cupti_buffer_completed_fn))find(
			theirs, "cuptiActivityRegisterCallbacks", (void *)cupti.register_callbacks);
	is_theirs = theirs != NULL;
}

void competing_profiler_watch(void)
{
	struct image theirs;
	int nr = cupti_find_theirs(&theirs);

	/* of several copies it is unknown which one a module's stub would find */
	if (!is_watching && nr > 1)
		return;
	if (nr == 1 && cupti_is_ours() && !is_theirs) {
		/* modules bound to ours, if any, are in our table still: they call ours no more */
		if (is_watching)
			exchange(true);
		set_real(&theirs);
	} else if (!is_watching) {
		set_real(NULL);
	}
	is_watching = true;
	exchange(false);
}

void competing_profiler_ignore(void)
{
	if (is_watching)
		exchange(true);
	is_watching = is_theirs = has_clock = false;
	__atomic_store_n(&has_buffers, 0, __ATOMIC_RELAXED);
}

bool competing_profiler_has_buffers(void)
{
	return __atomic_load_n(&has_buffers, __ATOMIC_RELAXED);
}
