/*
 * The hot path: entered twice per CUDA call, in the thread that makes it. The stack is taken at the
 * exit: the callers are the same, and the GPU is at work already.
 */
#include "gpu/agent/cupti/api_calls.h"

#include <string.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/cost.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/cupti/launch.h"
#include "gpu/agent/cupti/launch_gate.h"
#include "gpu/agent/flops/flops_graph.h"
#include "gpu/agent/nvtx/capture.h"
#include "gpu/agent/nvtx/range.h"
#include "gpu/agent/stack/capture_stack.h"
#include "gpu/agent/stack/launch_stack.h"

static uint8_t classes[2][GPU_MAX_CBIDS];	/* atomic: set while other callbacks run */
static uint32_t stack_classes;			/* atomic */
static uint64_t stack_min_ticks;		/* atomic */
static int (*finalize)(void);			/* atomic */
static uint32_t finalized;			/* atomic */
static const struct api_calls_watcher *watcher; /* atomic; NULL: none */
/* atomic: of captures, by threads that had not begun them */
static uint32_t nr_foreign_ends;

void api_calls_set_class(uint32_t domain, uint32_t cbid, uint32_t api_class)
{
	if (cbid < GPU_MAX_CBIDS)
		__atomic_store_n(&classes[domain][cbid], (uint8_t)api_class, __ATOMIC_RELAXED);
}

void api_calls_set_stacks(uint32_t api_classes, uint64_t min_ticks)
{
	__atomic_store_n(&stack_classes, api_classes, __ATOMIC_RELAXED);
	__atomic_store_n(&stack_min_ticks, min_ticks, __ATOMIC_RELAXED);
}

uint32_t api_calls_class_of(const char *name)
{
	static const struct {
		const char *start, *has;
		uint32_t api_class;
	} rules[] = {
		{ "cuLaunchHostFunc", "", GPU_API_HOST_FUNC },
		{ "cuLaunch", "", GPU_API_LAUNCH },
		{ "cuGraphLaunch", "", GPU_API_GRAPH_LAUNCH },
		{ "cuMemcpy", "", GPU_API_MEMCPY },
		{ "cuMemset", "", GPU_API_MEMSET },
		{ "cuMemAlloc", "", GPU_API_ALLOC },
		{ "cuMemCreate", "", GPU_API_ALLOC },
		{ "cuMemFree", "", GPU_API_FREE },
		{ "cuMemRelease", "", GPU_API_FREE },
		{ "cuStreamWaitEvent", "", GPU_API_SYNC },
		{ "cu", "Synchronize", GPU_API_SYNC },
		{ "cuProfilerStart", "", GPU_API_PROFILER_START },
		{ "cuProfilerStop", "", GPU_API_PROFILER_STOP },
		{ "cuStreamBeginCapture", "", GPU_API_CAPTURE_BEGIN },
		{ "cuStreamEndCapture", "", GPU_API_CAPTURE_END },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strncmp(name, rules[i].start, strlen(rules[i].start)) &&
		    strstr(name, rules[i].has))
			return rules[i].api_class;
	return GPU_API_OTHER;
}

void api_calls_watch(const struct api_calls_watcher *w)
{
	__atomic_store_n(&watcher, w, __ATOMIC_RELEASE);
}

static const struct api_calls_watcher *get_watcher(void)
{
	return __atomic_load_n(&watcher, __ATOMIC_ACQUIRE);
}

void api_calls_end_watch(void)
{
	const struct api_calls_watcher *w = get_watcher();

	if (w)
		w->end();
}

bool api_calls_finalize_next(int (*f)(void))
{
	if (f)
		__atomic_store_n(&finalized, 0, __ATOMIC_RELEASE);
	return __atomic_exchange_n(&finalize, f, __ATOMIC_ACQ_REL) != NULL;
}

bool api_calls_finalized(void)
{
	return __atomic_load_n(&finalized, __ATOMIC_ACQUIRE);
}

static __attribute__((noinline)) void finalize_now(void)
{
	int (*f)(void) = __atomic_exchange_n(&finalize, NULL, __ATOMIC_ACQ_REL);

	if (!f)
		return;
	f();
	__atomic_store_n(&finalized, 1, __ATOMIC_RELEASE);
}

static uint32_t class_of(uint32_t domain, uint32_t cbid)
{
	return __atomic_load_n(&classes[domain][cbid < GPU_MAX_CBIDS ? cbid : 0], __ATOMIC_RELAXED);
}

uint32_t api_calls_class(uint32_t domain, uint32_t cbid)
{
	return domain < 2 ? class_of(domain, cbid) : GPU_API_OTHER;
}

/* Of these calls CUPTI makes records of what the GPU does. */
static bool awaits_record(uint32_t api_class)
{
	static const uint32_t wants[GPU_NR_API_CLASSES] = {
		[GPU_API_LAUNCH] = GPU_WANT_KERNELS,
		[GPU_API_GRAPH_LAUNCH] = GPU_WANT_KERNELS | GPU_WANT_GRAPH_TRACE,
		[GPU_API_MEMCPY] = GPU_WANT_MEMCPY,
		[GPU_API_MEMSET] = GPU_WANT_MEMSET,
	};

	return agent_wants(wants[api_class]);
}

/*
 * Notes whether the thread captures. Another thread may end its capture, and which thread began one
 * is not said: after such an end only nodes tell what is captured.
 */
static void note_capture(struct thread *t, uint32_t api_class, int32_t result)
{
	uint32_t ends = __atomic_load_n(&nr_foreign_ends, __ATOMIC_RELAXED);

	if (t->ends_seen != ends)
		t->captures = false;
	if (api_class == GPU_API_CAPTURE_END && !t->captures && !result)
		ends = __atomic_add_fetch(&nr_foreign_ends, 1, __ATOMIC_RELAXED);
	if (api_class == GPU_API_CAPTURE_BEGIN || api_class == GPU_API_CAPTURE_END)
		t->captures = api_class == GPU_API_CAPTURE_BEGIN && !result;
	t->ends_seen = ends;
}

/*
 * The class of a call whose result is known: one that has made a node runs nothing, whichever
 * thread captures the stream. Not every captured call makes one, and CUPTI may not tell, so a call
 * of a thread that captures counts as captured, too.
 */
static uint32_t class_at_exit(struct thread *t, uint32_t api_class, int32_t result)
{
	note_capture(t, api_class, result);
	if ((t->captures || t->new_node) &&
	    (api_class == GPU_API_LAUNCH || api_class == GPU_API_MEMCPY ||
	     api_class == GPU_API_MEMSET))
		return GPU_API_CAPTURED;
	return api_class;
}

static uint32_t stack_of(struct thread *t, uint32_t api_class, uint64_t ticks, const void *frame)
{
	if (!(__atomic_load_n(&stack_classes, __ATOMIC_RELAXED) >> api_class & 1))
		return 0;
	thread_count(t, THREAD_LAUNCHES, 1);
	if (ticks < __atomic_load_n(&stack_min_ticks, __ATOMIC_RELAXED)) {
		thread_count(t, THREAD_SHORT, 1);
		return 0;
	}
	return launch_stack(t, frame);
}

/*
 * A function of the runtime API calls the driver's, under its own correlation id: that call is
 * counted once, as what the program called.
 */
static bool is_nested(struct thread *t, uint32_t domain, uint32_t correlation)
{
	if (domain == GPU_API_DRIVER)
		return correlation && t->runtime_call == correlation;
	t->runtime_call = 0;
	return false;
}

static void enter(uint32_t domain, const struct cupti_callback_data *d)
{
	struct thread *t = thread_self();

	*d->correlation_data = clock_ticks();
	if (t && domain == CUPTI_RUNTIME_API)
		t->runtime_call = d->correlation_id;
	else if (t)
		t->new_node = 0;
}

static __attribute__((noinline)) void tell_launch(uint32_t api_class, void *context)
{
	const struct api_calls_watcher *w = get_watcher();

	if (w && (api_class == GPU_API_LAUNCH || api_class == GPU_API_GRAPH_LAUNCH))
		w->launch(context);
}

static void leave(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *d,
		  const void *frame)
{
	uint64_t now = clock_ticks(), entered = *d->correlation_data;
	uint32_t api_class = class_of(domain, cbid);
	int32_t result = d->function_return_value ? *(const int32_t *)d->function_return_value : 0;
	struct thread *t = thread_self();
	struct gpu_api *api;
	struct launch_info info;
	struct gpu_rec_api *r;

	if (!t || (capture_kind() && !capture_call(domain, api_class)))
		return;
	/* collecting may have begun between enter and exit */
	if (!entered || entered > now) {
		if (governor_has_paused()) /* the call began before the window */
			return;
		entered = now;
	}
	api = lane_api(&t->lane, domain, cbid, d->function_name, api_class);
	if (!is_nested(t, domain, d->correlation_id))
		lane_count_call(&t->lane, api, clock_ticks_duration_ns(now - entered));
	if (domain != GPU_API_DRIVER || api_class == GPU_API_OTHER || governor_only_counts()) {
		governor_pay(t, now);
		return;
	}
	info.window = governor_window();
	info.stack = stack_of(t, api_class, now - entered, frame);
	info.range = range_current(t);
	info.tid = t->tid;
	info.start_ns = clock_ticks_to_ns(entered);
	api_class = class_at_exit(t, api_class, result);
	if (api_class == GPU_API_CAPTURED) /* its frames inside libcuda are the named ones */
		capture_stack_note(t->new_node, info.stack);
	t->new_node = 0;
	info.flops = t->flops.entry;
	info.awaits_record = !result && awaits_record(api_class);
	info.is_of_graph = api_class == GPU_API_GRAPH_LAUNCH;
	launch_note(d->correlation_id, &info);
	r = lane_begin(&t->lane, sizeof(*r));
	if (r) {
		r->start_ns = info.start_ns;
		r->end_ns = clock_ticks_to_ns(now);
		r->correlation = d->correlation_id;
		r->stack = info.stack;
		r->range = info.range;
		r->name = api->name;
		r->cbid = (uint16_t)cbid;
		r->domain = (uint8_t)domain;
		r->api_class = (uint8_t)api_class;
		r->result = result;
		lane_end(r, GPU_RECORD_API, sizeof(*r), info.tid);
	}
	if (!(t->counts[THREAD_LAUNCHES] & 1023))
		thread_count(t, THREAD_CALLBACK_TICKS, clock_ticks() - now);
	if (__builtin_expect(get_watcher() != NULL, 0))
		tell_launch(api_class, d->context);
	governor_pay(t, now);
}

static void copy_node(uint64_t id, uint64_t original)
{
	capture_stack_copy(id, original);
	flops_copy_node(id, original);
}

/* A node of a graph was made, by a call that is captured or by one that adds it. */
static void take_node(uint32_t cbid, const struct cupti_resource_data *d, const void *frame)
{
	const struct cupti_graph_data *g = d->graph;
	struct thread *t = thread_self();
	uint64_t id = 0, original = 0;

	if (!t || !g || cupti.graph_node_id(g->node, &id))
		return;
	if (cbid == CUPTI_CBID_NODE_CLONED) {
		if (!cupti.graph_node_id(g->original_node, &original))
			copy_node(id, original);
		return;
	}
	t->new_node = id;
	flops_note_node(t, id);
	if (agent_wants(GPU_WANT_STACKS))
		capture_stack_note(id, launch_stack(t, frame));
}

static void take_resource(uint32_t cbid, const struct cupti_resource_data *d, const void *frame)
{
	const struct api_calls_watcher *w = get_watcher();

	if (cbid != CUPTI_CBID_NODE_CREATED && cbid != CUPTI_CBID_NODE_CLONED) {
		if (w)
			w->resource(cbid, d);
	} else if (agent_collects()) {
		take_node(cbid, d, frame);
	}
}

static void pass_gate(uint32_t site, uint32_t cbid)
{
	uint32_t api_class = class_of(GPU_API_DRIVER, cbid);

	if (api_class != GPU_API_LAUNCH && api_class != GPU_API_GRAPH_LAUNCH)
		return;
	if (site == CUPTI_API_ENTER)
		launch_gate_enter();
	else
		launch_gate_leave();
}

void api_calls_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct cupti_callback_data *d = data;

	(void)user;
	if (domain == CUPTI_RESOURCE) {
		if (*agent.alive)
			take_resource(cbid, data, __builtin_frame_address(0));
		return;
	}
	if (domain == CUPTI_DRIVER_API && launch_gate_is_needed() && *agent.alive)
		pass_gate(d->site, cbid);
	if (__builtin_expect(__atomic_load_n(&finalize, __ATOMIC_RELAXED) != NULL, 0) &&
	    d->site == CUPTI_API_EXIT && *agent.alive)
		finalize_now();
	if (governor_is_paused()) {
		if (d->site == CUPTI_API_EXIT && *agent.alive)
			governor_pay_for_gate();
		return;
	}
	if (!agent_collects() || (domain != CUPTI_DRIVER_API && domain != CUPTI_RUNTIME_API))
		return;
	if (d->site == CUPTI_API_ENTER)
		enter(domain, d);
	else
		leave(domain - 1, cbid, d, __builtin_frame_address(0));
}
