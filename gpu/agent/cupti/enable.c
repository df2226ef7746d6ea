/*
 * What is enabled in CUPTI, by what the recorder wants: kinds of activity records, and callbacks of
 * single API calls. Each enabled callback costs time, so only those of recorded calls are enabled.
 */
#include "gpu/agent/cupti/enable.h"

#include <string.h>

#include "gpu/agent/base/cost.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/api_calls.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/cupti/graph_level.h"
#include "gpu/agent/cupti/launch_gate.h"

#define MAX_ENABLED 16

static uint32_t enabled_kinds[MAX_ENABLED];
static uint32_t nr_enabled_kinds;
static bool has_tried_graphs;	/* in this session, to record them whole */
static bool keeps_graphs_whole; /* the governor wants that */
static uint32_t nr_sessions;	/* atomic: of CUPTI, in which any kind was enabled */
/* Callbacks that are enabled, by domain: 0 of the driver, 1 of the runtime, 2 of resources. */
static uint8_t enabled_callbacks[3][GPU_MAX_CBIDS];

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
	cupti_report_error(err == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? GPU_FAIL_PRIVILEGES
								      : GPU_FAIL_KIND,
			   err, text.bytes);
}

static bool is_enabled(uint32_t kind)
{
	for (uint32_t i = 0; i < nr_enabled_kinds; i++)
		if (enabled_kinds[i] == kind)
			return true;
	return false;
}

void enable_whole_graphs(void)
{
	if (has_tried_graphs || is_enabled(CUPTI_KIND_GRAPH_TRACE) || !graph_level_is_due())
		return;
	has_tried_graphs = true;
	enable_kind(CUPTI_KIND_GRAPH_TRACE, "GRAPH_TRACE");
	if (is_enabled(CUPTI_KIND_GRAPH_TRACE))
		report_words(GPU_FAIL_WHOLE_GRAPHS, 0,
			     "CUDA graphs are recorded whole from here on, without their kernels: "
			     "the device memory of CUPTI that those use up is nearly gone");
}

bool enable_graphs_for_cost(void)
{
	keeps_graphs_whole = true;
	if (!is_enabled(CUPTI_KIND_GRAPH_TRACE))
		enable_kind(CUPTI_KIND_GRAPH_TRACE, "GRAPH_TRACE");
	return is_enabled(CUPTI_KIND_GRAPH_TRACE);
}

bool enable_graph_ids_hold(void)
{
	uint32_t version = agent.region->cupti_version;

	return version < CUPTI_API_WRONG_GRAPH_IDS || version >= CUPTI_API_RIGHT_GRAPH_IDS ||
	       __atomic_load_n(&nr_sessions, __ATOMIC_RELAXED) < 2;
}

void enable_note_foreign_session(void)
{
	__atomic_fetch_add(&nr_sessions, 1, __ATOMIC_RELAXED);
}

void enable_kinds(void)
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

	__atomic_fetch_add(&nr_sessions, nr_enabled_kinds == 0, __ATOMIC_RELAXED);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (agent_wants(kinds[i].want))
			enable_kind(kinds[i].kind, kinds[i].name);
	if (keeps_graphs_whole && !is_enabled(CUPTI_KIND_GRAPH_TRACE))
		enable_kind(CUPTI_KIND_GRAPH_TRACE, "GRAPH_TRACE");
	enable_whole_graphs();
}

void enable_begin(void)
{
	keeps_graphs_whole = false;
	memset(enabled_callbacks, 0, sizeof(enabled_callbacks));
}

void enable_devices(void)
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

void disable_kinds(void)
{
	bool quiet = !is_enabled(CUPTI_KIND_CONCURRENT_KERNEL) || launch_gate_close();

	for (uint32_t i = 0; i < nr_enabled_kinds; i++)
		if (quiet || enabled_kinds[i] != CUPTI_KIND_CONCURRENT_KERNEL)
			cupti.activity_disable(enabled_kinds[i]);
	if (quiet)
		launch_gate_open();
	else
		report_words(GPU_FAIL_KERNELS_STAY, 0,
			     "CUPTI goes on recording kernels, which are dropped: this version may "
			     "deadlock if that is ended during a launch, and one does not end");
	nr_enabled_kinds = 0;
	has_tried_graphs = false;
}

static void enable_call(void *subscriber, uint32_t domain, uint32_t cbid)
{
	cupti.enable_callback(1, subscriber, domain, cbid);
	enabled_callbacks[domain - 1][cbid] = 1;
}

static bool is_launch(uint32_t domain, uint32_t cbid)
{
	uint32_t api_class = api_calls_class(domain - 1, cbid);

	return domain == CUPTI_DRIVER_API &&
	       (api_class == GPU_API_LAUNCH || api_class == GPU_API_GRAPH_LAUNCH);
}

void disable_callbacks(void *subscriber, bool but_launches)
{
	for (uint32_t domain = 1; domain <= 3; domain++)
		for (uint32_t cbid = 0; cbid < GPU_MAX_CBIDS; cbid++) {
			if (!enabled_callbacks[domain - 1][cbid] ||
			    (but_launches && is_launch(domain, cbid)))
				continue;
			cupti.enable_callback(0, subscriber, domain, cbid);
			enabled_callbacks[domain - 1][cbid] = 0;
		}
}

static bool is_wanted(uint32_t domain, uint32_t api_class)
{
	static const uint32_t wants[] = {
		[GPU_API_OTHER] = GPU_WANT_API_ALL,
		[GPU_API_LAUNCH] = GPU_WANT_KERNELS | GPU_WANT_LAUNCHES | GPU_WANT_PC_SAMPLES,
		[GPU_API_GRAPH_LAUNCH] = GPU_WANT_KERNELS | GPU_WANT_GRAPH_TRACE |
					 GPU_WANT_LAUNCHES | GPU_WANT_PC_SAMPLES,
		[GPU_API_MEMCPY] = GPU_WANT_MEMCPY,
		[GPU_API_MEMSET] = GPU_WANT_MEMSET,
		[GPU_API_SYNC] = GPU_WANT_SYNC,
		[GPU_API_ALLOC] = GPU_WANT_MEMORY,
		[GPU_API_FREE] = GPU_WANT_MEMORY,
		[GPU_API_HOST_FUNC] = GPU_WANT_KERNELS | GPU_WANT_LAUNCHES,
		[GPU_API_PROFILER_START] = ~0u,
		[GPU_API_PROFILER_STOP] = ~0u,
		[GPU_API_CAPTURE_BEGIN] = GPU_WANT_KERNELS | GPU_WANT_LAUNCHES,
		[GPU_API_CAPTURE_END] = GPU_WANT_KERNELS | GPU_WANT_LAUNCHES,
	};

	if (governor_only_counts()) /* launches */
		return domain == GPU_API_DRIVER &&
		       (api_class == GPU_API_LAUNCH || api_class == GPU_API_GRAPH_LAUNCH);
	if (domain == GPU_API_RUNTIME)
		return agent_wants(GPU_WANT_API_RUNTIME);
	return agent_wants(wants[api_class] | GPU_WANT_API_ALL);
}

static void enable_domain(void *subscriber, uint32_t domain)
{
	for (uint32_t cbid = 1; cbid < GPU_MAX_CBIDS; cbid++) {
		const char *name = NULL;
		uint32_t api_class;

		/* the list of names has no holes */
		if (cupti.callback_name(domain + 1, cbid, &name) || !name)
			break;
		api_class = api_calls_class_of(name);
		api_calls_set_class(domain, cbid, api_class);
		if (is_wanted(domain, api_class))
			enable_call(subscriber, domain + 1, cbid);
	}
}

/* If libcupti cannot name its ids: only launches and capture calls, by number. */
static void enable_known_launches(void *subscriber)
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
		enable_call(subscriber, CUPTI_DRIVER_API, known[i].cbid);
	}
}

void enable_callbacks(void *subscriber)
{
	if (agent_wants(GPU_WANT_PC_SAMPLES)) {
		enable_call(subscriber, CUPTI_RESOURCE, CUPTI_CBID_CONTEXT_CREATED);
		enable_call(subscriber, CUPTI_RESOURCE, CUPTI_CBID_CONTEXT_DESTROY_STARTING);
		enable_call(subscriber, CUPTI_RESOURCE, CUPTI_CBID_MODULE_LOADED);
	}
	if (!cupti.callback_name) {
		enable_known_launches(subscriber);
		return;
	}
	if (cupti.graph_node_id && agent_wants(GPU_WANT_KERNELS)) {
		enable_call(subscriber, CUPTI_RESOURCE, CUPTI_CBID_NODE_CREATED);
		if (agent_wants(GPU_WANT_STACKS))
			enable_call(subscriber, CUPTI_RESOURCE, CUPTI_CBID_NODE_CLONED);
	}
	enable_domain(subscriber, GPU_API_DRIVER);
	if (agent_wants(GPU_WANT_API_RUNTIME))
		enable_domain(subscriber, GPU_API_RUNTIME);
}
