/*
 * A subscriber gets callbacks and owns CUPTI's buffers; CUPTI has one subscriber at a time. If
 * another tool is first, the state is WAITING and collect.c tries again later. If another tool
 * comes after us, competing_profiler.c takes this subscription away for it.
 */
#include "gpu/agent/cupti/subscription.h"

#include "gpu/agent/base/cost.h"
#include "gpu/agent/base/lock.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/activity.h"
#include "gpu/agent/cupti/activity_keep.h"
#include "gpu/agent/cupti/api_calls.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/cupti/cupti_clock.h"
#include "gpu/agent/cupti/cupti_settings.h"
#include "gpu/agent/cupti/enable.h"
#include "gpu/agent/cupti/graph_level.h"
#include "gpu/agent/cupti/launch.h"
#include "gpu/agent/cupti/launch_gate.h"
#include "gpu/agent/cupti/refusal.h"

#define FINALIZE_WAIT_MS 120
#define AWAIT_MS 80
#define AWAIT_AT_EXIT_MS 20
#define AWAIT_STEP_MS 4

static void *subscriber; /* NULL: not subscribed */
static int too_early;	 /* CUPTI's last error, if CUDA had not started by then; else 0 */

static bool subscribe(void)
{
	int err = cupti.subscribe(&subscriber, api_calls_callback, NULL);

	too_early = 0;
	if (!err)
		return true;
	subscriber = NULL;
	switch (refusal_explain(err)) {
	case REFUSAL_FINAL: agent_set_state(GPU_STATE_FAILED); break;
	case REFUSAL_TOO_EARLY:
		too_early = err;
		agent_set_state(GPU_STATE_WAITING);
		break;
	case REFUSAL_PASSES:
		enable_note_foreign_session();
		agent_set_state(GPU_STATE_WAITING);
		break;
	}
	return false;
}

bool subscription_is_too_early(void)
{
	return too_early != 0;
}

void subscription_report_early(void)
{
	if (too_early)
		refusal_report_never_started(too_early);
}

bool subscription_is_on(void)
{
	return subscriber != NULL;
}

bool subscription_start(void)
{
	int err;

	if (cupti_load() || activity_init()) {
		agent_set_state(GPU_STATE_FAILED);
		return false;
	}
	/* before all else: the subscriber owns the buffers */
	if (!subscribe())
		return false;
	launch_gate_init(agent.region->cupti_version);
	cupti_clock_begin();
	activity_set_end(0);
	activity_read(true);
	cupti_settings_take();
	/* every time: a tool that had CUPTI in between has put its own in place */
	err = cupti.register_callbacks(activity_request, activity_complete);
	if (err) {
		cupti_report_error(GPU_FAIL_CUPTI, err, "give CUPTI its buffers");
		cupti_settings_give_back();
		cupti.unsubscribe(subscriber);
		subscriber = NULL;
		agent_set_state(GPU_STATE_FAILED);
		return false;
	}
	enable_begin();
	enable_kinds();
	enable_callbacks(subscriber);
	return true;
}

void subscription_flush(void)
{
	if (!subscriber)
		return;
	cupti_clock_read();
	enable_devices();
	cupti.flush_all(0);
	activity_settle(false);
	if (agent_wants(GPU_WANT_KERNELS) && !governor_has_paused())
		enable_whole_graphs();
}

void subscription_pause(void)
{
	disable_kinds();
	/* the gate must know of launches that begin now, too, when kinds are disabled again */
	disable_callbacks(subscriber, launch_gate_is_needed());
}

void subscription_resume(void)
{
	enable_kinds();
	enable_callbacks(subscriber);
}

bool subscription_take_graphs_whole(void)
{
	return enable_graphs_for_cost();
}

void subscription_count_launches(void)
{
	enable_callbacks(subscriber);
}

void subscription_count_nothing(void)
{
	disable_callbacks(subscriber, false);
}

/* Gives work that runs some time to end: a record that is forced out has no end, for good. */
static void await_records(int ms)
{
	uint64_t since = agent.region->active_ns;
	bool waits = launch_awaits_any(since, false);

	for (int i = 0; waits && i < ms / AWAIT_STEP_MS; i++) {
		agent_pause_us(AWAIT_STEP_MS * 1000);
		cupti.flush_all(0);
		activity_settle(false);
		waits = launch_awaits_any(since, true);
	}
}

static void force_records(void)
{
	activity_set_cut_off(true);
	cupti.flush_all(CUPTI_FLUSH_FORCED);
	activity_settle(false);
	activity_settle(true);
	activity_set_cut_off(false);
}

void subscription_flush_at_exit(void)
{
	if (!subscriber)
		return;
	api_calls_end_watch();
	cupti_clock_read();
	cupti.flush_all(0);
	enable_devices();
	await_records(AWAIT_AT_EXIT_MS);
	force_records();
}

static bool may_finalize(void)
{
	static bool graphs; /* the program has ever used CUDA graphs */
	const struct gpu_region *r = agent.region;

	graphs |= agent_counted(GPU_COUNT_GRAPH_NODES) + agent_counted(GPU_COUNT_GRAPHS) != 0;
	return cupti.finalize && (r->cupti_version >= CUPTI_API_FINALIZE_WITH_GRAPHS || !graphs);
}

/*
 * CUPTI can be unloaded only from within a CUDA call of the application. If none comes soon, CUPTI
 * stays loaded with everything disabled: false.
 */
static bool finalize_in_a_call(void)
{
	if (!may_finalize())
		return false;
	api_calls_finalize_next(cupti.finalize);
	for (int i = 0; i < FINALIZE_WAIT_MS / 5 && !api_calls_finalized(); i++)
		agent_pause_us(5000);
	/* revoked: a later call must not finalize */
	return !api_calls_finalize_next(NULL);
}

static void end_records(void)
{
	api_calls_end_watch();
	disable_kinds();
	cupti_clock_read();
	cupti.flush_all(0);
	activity_settle(false);
	await_records(AWAIT_MS);
	force_records();
	activity_read(false);
	cupti_settings_give_back();
}

void subscription_stop(void)
{
	if (!subscriber)
		return;
	end_records();
	if (finalize_in_a_call()) {
		graph_level_forget();
	} else {
		cupti.unsubscribe(subscriber);
		report_words(GPU_FAIL_RESIDENT, 0,
			     "detached; CUPTI is disabled and stays loaded until the program ends");
	}
	subscriber = NULL;
}

bool subscription_make_way(void)
{
	if (!subscriber || !agent.collecting)
		return false;
	end_records();
	cupti.unsubscribe(subscriber);
	subscriber = NULL;
	agent_set_state(GPU_STATE_WAITING);
	return true;
}
