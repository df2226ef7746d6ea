/* See collect.h. */
#include "gpu/agent/cupti/collect.h"

#include <string.h>
#include <time.h>

#include "gpu/agent/cupti/activity.h"
#include "gpu/agent/agent.h"
#include "gpu/agent/cupti/api_calls.h"
#include "gpu/agent/nvtx/capture.h"
#include "gpu/agent/base/clock.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/base/image.h"
#include "gpu/agent/nvtx/nvtx_names.h"
#include "gpu/agent/nvtx/range.h"
#include "gpu/agent/cupti/competing_profiler.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/cupti/cupti_settings.h"
#include "gpu/agent/base/thread.h"

#define DEFAULT_STACK_CLASSES                                                                      \
	(1u << GPU_API_LAUNCH | 1u << GPU_API_GRAPH_LAUNCH | 1u << GPU_API_MEMCPY |                \
	 1u << GPU_API_MEMSET | 1u << GPU_API_SYNC | 1u << GPU_API_ALLOC | 1u << GPU_API_FREE)
#define DEFAULT_MAX_FRAMES 256u
#define MAX_ENABLED 16
#define FINALIZE_WAIT_MS 150

static void *subscriber;
static uint32_t enabled_kinds[MAX_ENABLED];
static uint32_t nr_enabled_kinds;
static bool made_way;

static void set_state(uint32_t state)
{
	__atomic_store_n(&agent.region->state, state, __ATOMIC_RELEASE);
}

static void pause_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

/* Who holds CUPTI; only cuptiSubscribe_v2 can say. */
static void say_foreign(void)
{
	char name[128] = "";
	struct cupti_subscriber_params params = { sizeof(params), "sprof", name, sizeof(name) };
	struct text text = { .length = 0 };
	void *s = NULL;

	if (cupti.subscribe_v2 && !cupti.subscribe_v2(&s, api_calls_callback, NULL, &params))
		cupti.unsubscribe(s); /* free just now: the retry takes it, by the older function */
	name[sizeof(name) - 1] = 0;
	text_add(&text, "CUPTI is held by ");
	text_add(&text, name[0] ? name : "another tool");
	text_add(&text, ": GPU data begins when it lets go (asked every 5 s)");
	report(GPU_FAIL_FOREIGN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS, &text);
}

static bool subscribe(void)
{
	int err = cupti.subscribe(&subscriber, api_calls_callback, NULL);

	if (!err)
		return true;
	subscriber = NULL;
	switch (err) {
	case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS:
		set_state(GPU_STATE_WAITING);
		say_foreign();
		return false;
	case CUPTI_ERROR_UNKNOWN:
		cupti_say_error(GPU_FAIL_NO_DRIVER, err, "collect GPU data without a driver");
		break;
	case CUPTI_ERROR_NOT_INITIALIZED:
		cupti_say_error(GPU_FAIL_OLD_CUPTI, err,
				"collect GPU data: libcupti does not fit the driver");
		break;
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		cupti_say_error(GPU_FAIL_PRIVILEGES, err, "collect GPU data");
		break;
	default: cupti_say_error(GPU_FAIL_CUPTI, err, "subscribe to CUPTI");
	}
	set_state(GPU_STATE_FAILED);
	return false;
}

static void enable_kind(uint32_t kind, const char *name)
{
	int err = cupti.activity_enable(kind);
	struct text text = { .length = 0 };

	if (!err && nr_enabled_kinds < MAX_ENABLED) {
		enabled_kinds[nr_enabled_kinds++] = kind;
		return;
	}
	text_add(&text, "enable activity kind ");
	text_add(&text, name);
	cupti_say_error(err == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? GPU_FAIL_PRIVILEGES
								   : GPU_FAIL_KIND,
			err, text.bytes);
}

static void enable_kinds(void)
{
	static const struct {
		uint32_t want, kind;
		const char *name;
	} kinds[] = {
		{ GPU_WANT_KERNELS, CUPTI_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL" },
		{ GPU_WANT_MEMCPY, CUPTI_KIND_MEMCPY, "MEMCPY" },
		{ GPU_WANT_MEMCPY, CUPTI_KIND_MEMCPY2, "MEMCPY2" },
		{ GPU_WANT_MEMSET, CUPTI_KIND_MEMSET, "MEMSET" },
		{ GPU_WANT_SYNC, CUPTI_KIND_SYNCHRONIZATION, "SYNCHRONIZATION" },
		{ GPU_WANT_OVERHEAD, CUPTI_KIND_OVERHEAD, "OVERHEAD" },
		{ GPU_WANT_GRAPH_TRACE, CUPTI_KIND_GRAPH_TRACE, "GRAPH_TRACE" },
		{ GPU_WANT_MEMORY, CUPTI_KIND_MEMORY2, "MEMORY2" },
		{ GPU_WANT_MEMORY, CUPTI_KIND_MEMORY_POOL, "MEMORY_POOL" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (agent_wants(kinds[i].want))
			enable_kind(kinds[i].kind, kinds[i].name);
}

/*
 * Devices that are there already are told only by the function that dumps them. It asks the driver, so
 * it has to wait until the driver is surely up: we may be called from within cuInit().
 */
static void tell_devices(void)
{
	static bool told;

	if (told || !agent_counted(GPU_COUNT_BUFFERS))
		return;
	told = true;
	if (!cupti.activity_enable_and_dump)
		enable_kind(CUPTI_KIND_DEVICE, "DEVICE");
	else if (!cupti.activity_enable_and_dump(CUPTI_KIND_DEVICE) &&
		 nr_enabled_kinds < MAX_ENABLED)
		enabled_kinds[nr_enabled_kinds++] = CUPTI_KIND_DEVICE;
}

static bool is_wanted(uint32_t domain, uint32_t api_class)
{
	static const uint32_t wants[] = {
		[GPU_API_OTHER] = GPU_WANT_API_ALL,
		[GPU_API_LAUNCH] = GPU_WANT_KERNELS,
		[GPU_API_GRAPH_LAUNCH] = GPU_WANT_KERNELS | GPU_WANT_GRAPH_TRACE,
		[GPU_API_MEMCPY] = GPU_WANT_MEMCPY,
		[GPU_API_MEMSET] = GPU_WANT_MEMSET,
		[GPU_API_SYNC] = GPU_WANT_SYNC,
		[GPU_API_ALLOC] = GPU_WANT_MEMORY,
		[GPU_API_FREE] = GPU_WANT_MEMORY,
		[GPU_API_HOST_FUNC] = GPU_WANT_KERNELS,
		[GPU_API_PROFILER_START] = ~0u,
		[GPU_API_PROFILER_STOP] = ~0u,
	};

	if (domain == GPU_API_RUNTIME)
		return agent_wants(GPU_WANT_API_RUNTIME);
	return agent_wants(wants[api_class] | GPU_WANT_API_ALL);
}

static void enable_domain(uint32_t domain)
{
	for (uint32_t cbid = 1; cbid < GPU_MAX_CBIDS; cbid++) {
		const char *name = NULL;
		uint32_t api_class;

		/* the first id without a name is the end of the list */
		if (cupti.callback_name(domain + 1, cbid, &name) || !name)
			break;
		api_class = api_calls_class_of(name);
		api_calls_set_class(domain, cbid, api_class);
		if (is_wanted(domain, api_class))
			cupti.enable_callback(1, subscriber, domain + 1, cbid);
	}
}

/* Where libcupti cannot name its ids: the launches alone, by number. */
static void enable_known_launches(void)
{
	static const struct {
		uint16_t cbid, api_class;
	} known[] = {
		{ CUPTI_CBID_LAUNCH_KERNEL, GPU_API_LAUNCH },
		{ CUPTI_CBID_LAUNCH_KERNEL_PTSZ, GPU_API_LAUNCH },
		{ CUPTI_CBID_LAUNCH_COOPERATIVE, GPU_API_LAUNCH },
		{ CUPTI_CBID_LAUNCH_COOPERATIVE_PTSZ, GPU_API_LAUNCH },
		{ CUPTI_CBID_LAUNCH_COOPERATIVE_MULTI, GPU_API_LAUNCH },
		{ CUPTI_CBID_LAUNCH_KERNEL_EX, GPU_API_LAUNCH },
		{ CUPTI_CBID_LAUNCH_KERNEL_EX_PTSZ, GPU_API_LAUNCH },
		{ CUPTI_CBID_GRAPH_LAUNCH, GPU_API_GRAPH_LAUNCH },
		{ CUPTI_CBID_GRAPH_LAUNCH_PTSZ, GPU_API_GRAPH_LAUNCH },
		{ CUPTI_CBID_PROFILER_START, GPU_API_PROFILER_START },
		{ CUPTI_CBID_PROFILER_STOP, GPU_API_PROFILER_STOP },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		api_calls_set_class(GPU_API_DRIVER, known[i].cbid, known[i].api_class);
		cupti.enable_callback(1, subscriber, CUPTI_DRIVER_API, known[i].cbid);
	}
}

static void enable_callbacks(void)
{
	if (!cupti.callback_name) {
		enable_known_launches();
		return;
	}
	enable_domain(GPU_API_DRIVER);
	if (agent_wants(GPU_WANT_API_RUNTIME))
		enable_domain(GPU_API_RUNTIME);
}

static void start_cupti(void)
{
	int err;

	if (cupti_load() || activity_init()) {
		set_state(GPU_STATE_FAILED);
		return;
	}
	/* first of all: who has subscribed owns the buffers and the clock as well */
	if (!subscribe())
		return;
	cupti_settings_take();
	/* each time: who had CUPTI meanwhile has put their own in place */
	err = cupti.register_callbacks(activity_request, activity_complete);
	if (err) {
		cupti_say_error(GPU_FAIL_CUPTI, err, "give CUPTI its buffers");
		cupti_settings_give_back();
		cupti.unsubscribe(subscriber);
		subscriber = NULL;
		set_state(GPU_STATE_FAILED);
		return;
	}
	enable_kinds();
	enable_callbacks();
	competing_profiler_watch();
	set_state(GPU_STATE_ACTIVE);
}

static void read_config(void)
{
	const struct gpu_config *c = &agent.region->config;

	uint32_t classes = c->stack_classes ? c->stack_classes : DEFAULT_STACK_CLASSES;
	uint32_t max_frames =
		c->max_frames && c->max_frames < GPU_MAX_STACK ? c->max_frames : DEFAULT_MAX_FRAMES;

	__atomic_store_n(&agent.want, c->want, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.stack_classes, c->want & GPU_WANT_STACKS ? classes : 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&agent.stack_min_ticks, clock_ns_to_ticks(c->stack_min_ns),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&agent.max_frames, max_frames, __ATOMIC_RELAXED);
}

void collect_start(bool cuda)
{
	struct gpu_region *r = agent.region;

	if (!agent.collecting) {
		clock_calibrate_first();
		read_config();
		capture_begin();
		if (!r->active_ns)
			r->active_ns = clock_now_ns();
		r->stopped_ns = 0;
		__atomic_fetch_add(&agent.generation, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&agent.collecting, 1, __ATOMIC_RELEASE);
		set_state(GPU_STATE_NO_CUDA);
		if (agent_wants(GPU_WANT_NVTX))
			nvtx_names_emit();
	}
	if (cuda && !subscriber && r->state != GPU_STATE_WAITING && r->state != GPU_STATE_FAILED)
		start_cupti();
}

void collect_retry(void)
{
	if (agent.region->state != GPU_STATE_WAITING || competing_profiler_has_buffers())
		return;
	start_cupti();
	if (agent.region->state == GPU_STATE_ACTIVE)
		report_words(GPU_FAIL_FOREIGN_GONE, 0, "CUPTI is free now: collecting GPU data");
}

void collect_flush(void)
{
	if (!subscriber)
		return;
	tell_devices();
	cupti.flush_all(0);
	activity_settle(false);
}

static bool may_finalize(void)
{
	static bool graphs; /* ever seen */
	const struct gpu_region *r = agent.region;

	graphs |= agent_counted(GPU_COUNT_GRAPH_NODES) + agent_counted(GPU_COUNT_GRAPHS) != 0;
	return cupti.finalize && (r->cupti_version >= CUPTI_API_FINALIZE_WITH_GRAPHS || !graphs);
}

/*
 * CUPTI can be unloaded only from within a call of the application. Where none comes soon, it stays,
 * with everything disabled.
 */
static bool finalize_in_a_call(void)
{
	if (!may_finalize())
		return false;
	api_calls_finalize_next(cupti.finalize);
	for (int i = 0; i < FINALIZE_WAIT_MS / 5 && !api_calls_finalized(); i++)
		pause_ms(5);
	/* taken back: a call that comes now must find nothing to do */
	return !api_calls_finalize_next(NULL);
}

static void end_records(void)
{
	for (uint32_t i = 0; i < nr_enabled_kinds; i++)
		cupti.activity_disable(enabled_kinds[i]);
	nr_enabled_kinds = 0;
	cupti.flush_all(CUPTI_FLUSH_FORCED);
	activity_settle(false);
	activity_settle(true);
	cupti_settings_give_back();
}

static void stop_cupti(void)
{
	end_records();
	if (!finalize_in_a_call()) {
		cupti.unsubscribe(subscriber);
		report_words(
			GPU_FAIL_RESIDENT, 0,
			"detached; CUPTI is disabled, and stays loaded until the program ends");
	}
	subscriber = NULL;
}

void collect_watch(void)
{
	if (subscriber || agent.region->state == GPU_STATE_WAITING)
		competing_profiler_watch();
}

static void say_way_made(const void *caller, bool subscribes)
{
	struct text text = { .length = 0 };
	struct image image;

	if (image_at(caller, &image) && image.path[0])
		text_add(&text, image_name(&image));
	else
		text_add(&text, "the program");
	if (subscribes) {
		text_add(&text,
			 " subscribes to CUPTI, and has it: GPU data goes on when it lets go "
			 "(asked every 5 s)");
		report(GPU_FAIL_FOREIGN, 0, &text);
	} else {
		text_add(&text,
			 " records by CUPTI without subscribing to it: no GPU data from here "
			 "on");
		report(GPU_FAIL_BUFFERS_TAKEN, 0, &text);
	}
}

void collect_make_way(const void *caller, bool subscribes)
{
	made_way = subscriber && agent.collecting;
	if (!made_way)
		return;
	end_records();
	cupti.unsubscribe(subscriber);
	subscriber = NULL;
	set_state(GPU_STATE_WAITING);
	say_way_made(caller, subscribes);
}

bool collect_made_way(void)
{
	return made_way;
}

void collect_stop(void)
{
	if (!agent.collecting)
		return;
	__atomic_store_n(&agent.collecting, 0, __ATOMIC_RELEASE);
	capture_end();
	competing_profiler_ignore();
	if (subscriber)
		stop_cupti();
	range_flush_open();
	thread_publish_counts();
	agent.region->stopped_ns = clock_now_ns();
	set_state(GPU_STATE_DETACHED);
}

void collect_at_exit(void)
{
	if (!agent.collecting)
		return;
	capture_end();
	if (subscriber) {
		cupti.flush_all(CUPTI_FLUSH_FORCED);
		tell_devices();
		cupti.flush_all(CUPTI_FLUSH_FORCED);
		activity_settle(false);
		activity_settle(true);
	}
	range_flush_open();
	thread_publish_counts();
	agent.region->stopped_ns = clock_now_ns();
	set_state(GPU_STATE_EXITED);
}
