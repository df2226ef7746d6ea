/*
 * Puts the rooms together: NVTX is recorded from the start, GPU data as soon as CUDA is in use and
 * CUPTI is free. `agent.collecting` is what the hot paths look at; it is set last and cleared
 * first.
 */
#include "gpu/agent/collect.h"

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/base/thread.h"
#include "gpu/agent/cupti/activity_keep.h"
#include "gpu/agent/cupti/api_calls.h"
#include "gpu/agent/cupti/competing_profiler.h"
#include "gpu/agent/cupti/subscription.h"
#include "gpu/agent/flops/math_libraries.h"
#include "gpu/agent/governor.h"
#include "gpu/agent/nvtx/capture.h"
#include "gpu/agent/nvtx/nvtx_names.h"
#include "gpu/agent/nvtx/range.h"
#include "gpu/agent/pc/sampling.h"
#include "gpu/agent/stack/launch_stack.h"

#define DEFAULT_STACK_CLASSES                                                                      \
	(1u << GPU_API_LAUNCH | 1u << GPU_API_GRAPH_LAUNCH | 1u << GPU_API_MEMCPY |                \
	 1u << GPU_API_MEMSET | 1u << GPU_API_SYNC | 1u << GPU_API_ALLOC | 1u << GPU_API_FREE)
#define DEFAULT_MAX_FRAMES 256u
#define EARLY_TRIES 50u /* ticks of agent.c: a second */

static uint32_t early_tries; /* since the last start */

static void read_config(void)
{
	const struct gpu_config *c = &agent.region->config;
	uint32_t classes = c->stack_classes ? c->stack_classes : DEFAULT_STACK_CLASSES;
	uint32_t max_frames =
		c->max_frames && c->max_frames < GPU_MAX_STACK ? c->max_frames : DEFAULT_MAX_FRAMES;

	__atomic_store_n(&agent.want, c->want, __ATOMIC_RELAXED);
	api_calls_set_stacks(c->want & GPU_WANT_STACKS ? classes : 0,
			     clock_ns_to_ticks(c->stack_min_ns));
	launch_stack_set_max(max_frames);
}

/* Ranges are collected without CUPTI, which may then serve another tool. */
static bool needs_cupti(void)
{
	return agent_wants(GPU_WANT_OF_CUPTI) || capture_kind() == GPU_CAPTURE_PROFILER_API;
}

static void start_cupti(void)
{
	governor_begin(agent.region->config.max_overhead_ppm);
	pc_sampling_begin(); /* first: contexts may come as soon as CUPTI is subscribed to */
	if (!subscription_start())
		return;
	pc_sampling_check();
	competing_profiler_watch();
	agent_set_state(GPU_STATE_ACTIVE);
}

void collect_start(bool cuda)
{
	struct gpu_region *r = agent.region;

	if (!agent.collecting) {
		clock_calibrate_first();
		read_config();
		capture_begin();
		if (!r->active_ns)
			__atomic_store_n(&r->active_ns, clock_now_ns(), __ATOMIC_RELAXED);
		r->stopped_ns = 0;
		early_tries = 0;
		range_begin();
		__atomic_store_n(&agent.collecting, 1, __ATOMIC_RELEASE);
		agent_set_state(GPU_STATE_NO_CUDA);
		if (agent_wants(GPU_WANT_NVTX))
			nvtx_names_emit();
	}
	if (cuda && agent_wants(GPU_WANT_FLOPS))
		math_libraries_watch();
	if (cuda && needs_cupti() && !subscription_is_on() && r->state != GPU_STATE_WAITING &&
	    r->state != GPU_STATE_FAILED)
		start_cupti();
}

void collect_retry_early(void)
{
	if (!subscription_is_too_early() || early_tries >= EARLY_TRIES)
		return;
	if (++early_tries == EARLY_TRIES)
		subscription_report_early();
	else
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
	subscription_flush();
	pc_sampling_read();
}

void collect_govern(void)
{
	governor_tick();
}

void collect_watch(void)
{
	if (subscription_is_on() || agent.region->state == GPU_STATE_WAITING)
		competing_profiler_watch();
	math_libraries_look();
}

/* What is left to write once CUPTI has been read. Collection ended at stopped_ns. */
static void end(uint32_t state, uint64_t stopped_ns)
{
	range_flush_open();
	thread_publish_counts();
	agent.region->stopped_ns = stopped_ns;
	agent_set_state(state);
}

void collect_stop(void)
{
	uint64_t now = clock_now_ns(); /* later calls are not seen: no time after this is idle */

	if (!agent.collecting)
		return;
	activity_set_end(now);
	__atomic_store_n(&agent.collecting, 0, __ATOMIC_RELEASE);
	capture_end();
	competing_profiler_ignore();
	math_libraries_ignore();
	governor_end();
	subscription_stop();
	end(GPU_STATE_DETACHED, now);
}

void collect_at_exit(void)
{
	if (!agent.collecting)
		return;
	capture_end();
	subscription_report_early();
	governor_end();
	subscription_flush_at_exit();
	end(GPU_STATE_EXITED, clock_now_ns());
}
