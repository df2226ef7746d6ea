/*
 * Contexts come and go in threads of the target, within callbacks; the agent's thread reads them
 * from time to time. They take turns at the table of contexts. No thread waits for its turn longer
 * than a second: CUPTI may hold a lock of its own in a callback, which whoever has the turn waits
 * for.
 *
 * A context that is made while we watch is sampled from its first kernel. One that was there before
 * is found by the next launch in it, and then sampled by the agent's thread.
 */
#include "gpu/agent/pc/sampling.h"

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/base/lock.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/api_calls.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/pc/context.h"
#include "gpu/agent/pc/cubins.h"
#include "gpu/agent/pc/lines.h"

#define MAX_CONTEXTS 16u
#define TURN_STEP_US 200
#define TURN_STEPS 5000 /* a second */
#define LINES_NS 10000000ull
#define LAST_LINES_NS 500000000ull

struct slot {
	void *context;	  /* atomic; NULL = free */
	uint32_t is_gone; /* atomic: destroyed while another thread had the turn */
	bool is_started;  /* or was refused */
	struct pc_context c;
};

static struct slot slots[MAX_CONTEXTS];
static uint32_t turn;  /* atomic: a thread has it */
static uint32_t is_on; /* atomic */

static bool take_turn(int steps)
{
	for (int i = 0; __atomic_exchange_n(&turn, 1, __ATOMIC_ACQUIRE); i++) {
		if (i >= steps)
			return false;
		agent_pause_us(TURN_STEP_US);
	}
	return true;
}

static void end_turn(void)
{
	__atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
}

static bool can_sample(void)
{
	return cupti.pc.enable && cupti.pc.disable && cupti.pc.configure && cupti.pc.get_data &&
	       cupti.pc.nr_stalls && cupti.pc.stall_names;
}

static struct slot *find(void *context)
{
	for (uint32_t i = 0; i < MAX_CONTEXTS; i++)
		if (__atomic_load_n(&slots[i].context, __ATOMIC_ACQUIRE) == context)
			return &slots[i];
	return NULL;
}

/* The context's slot, a new one if there is room for it. From any thread. */
static struct slot *note(void *context)
{
	struct slot *known = find(context);

	for (uint32_t i = 0; !known && i < MAX_CONTEXTS; i++) {
		void *nothing = NULL;

		if (__atomic_compare_exchange_n(&slots[i].context, &nothing, context, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return &slots[i];
	}
	if (!known)
		report_words(GPU_FAIL_PC_SAMPLING, 0,
			     "no samples inside GPU kernels of some CUDA contexts: there are more "
			     "than 16 at a time");
	return known;
}

static void start(struct slot *s)
{
	if (s->is_started || __atomic_load_n(&s->is_gone, __ATOMIC_ACQUIRE))
		return;
	s->is_started = true;
	pc_context_start(&s->c, s->context);
}

static void forget(struct slot *s)
{
	s->is_started = false;
	__atomic_store_n(&s->is_gone, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->context, NULL, __ATOMIC_RELEASE);
}

static void context_created(void *context)
{
	struct slot *s = context ? note(context) : NULL;

	if (!s || !take_turn(TURN_STEPS))
		return;
	if (__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
		start(s);
	end_turn();
}

static void context_ends(void *context)
{
	struct slot *s = context ? find(context) : NULL;

	if (!s)
		return;
	if (!take_turn(TURN_STEPS)) {
		__atomic_store_n(&s->is_gone, 1, __ATOMIC_RELEASE);
		return;
	}
	if (__atomic_load_n(&s->context, __ATOMIC_ACQUIRE) == context) { /* still */
		if (s->is_started)
			pc_context_end(&s->c);
		forget(s);
	}
	end_turn();
}

static void take_resource(uint32_t cbid, const struct cupti_resource_data *d)
{
	if (!can_sample())
		return;
	switch (cbid) {
	case CUPTI_CBID_CONTEXT_CREATED:
		if (__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
			context_created(d->context);
		break;
	/* it must not go while another thread still ends the sampling in it */
	case CUPTI_CBID_CONTEXT_DESTROY_STARTING: context_ends(d->context); break;
	case CUPTI_CBID_MODULE_LOADED:
		cubins_take((const struct cupti_module_data *)d->graph);
		break;
	}
}

/* Samples with a correlation id must be read after each kernel, or they are mixed up. */
static void take_launch(void *context)
{
	struct slot *s;

	if (!__atomic_load_n(&is_on, __ATOMIC_ACQUIRE) || !context || !can_sample())
		return;
	s = note(context);
	if (!s || !agent_wants(GPU_WANT_PC_STACKS) || !take_turn(0))
		return;
	if (__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
		pc_context_read(&s->c);
	end_turn();
}

void pc_sampling_check(void)
{
	if (__atomic_load_n(&is_on, __ATOMIC_RELAXED) && !can_sample())
		report_words(GPU_FAIL_PC_SAMPLING, 0,
			     "no samples inside GPU kernels: this libcupti is older than CUDA "
			     "11.3 (hint: SPROF_CUPTI names another one)");
}

static void release_gone(struct slot *s)
{
	s->c.is_on = false; /* nothing may be asked about it any more */
	pc_context_end(&s->c);
	forget(s);
}

void pc_sampling_read(void)
{
	if (!__atomic_load_n(&is_on, __ATOMIC_RELAXED) || !can_sample() || !take_turn(0))
		return;
	for (uint32_t i = 0; i < MAX_CONTEXTS; i++) {
		struct slot *s = &slots[i];

		if (!__atomic_load_n(&s->context, __ATOMIC_ACQUIRE))
			continue;
		if (__atomic_load_n(&s->is_gone, __ATOMIC_ACQUIRE)) {
			release_gone(s);
			continue;
		}
		start(s);
		pc_context_read(&s->c);
	}
	lines_look_up(LINES_NS);
	end_turn();
}

/* Reads the rest, and ends it all. */
static void end(void)
{
	if (!__atomic_load_n(&is_on, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&is_on, 0, __ATOMIC_RELEASE);
	if (!take_turn(TURN_STEPS))
		return;
	for (uint32_t i = 0; i < MAX_CONTEXTS; i++) {
		struct slot *s = &slots[i];

		if (!__atomic_load_n(&s->context, __ATOMIC_ACQUIRE))
			continue;
		if (__atomic_load_n(&s->is_gone, __ATOMIC_ACQUIRE))
			s->c.is_on = false;
		if (s->is_started)
			pc_context_end(&s->c);
		forget(s);
	}
	lines_look_up(LAST_LINES_NS);
	cubins_end();
	api_calls_watch(NULL);
	end_turn();
}

void pc_sampling_begin(void)
{
	static const struct api_calls_watcher watcher = { take_resource, take_launch, end };

	if (!agent_wants(GPU_WANT_PC_SAMPLES))
		return;
	for (uint32_t i = 0; i < MAX_CONTEXTS; i++) /* that a late callback of before has noted */
		forget(&slots[i]);
	cubins_begin();
	lines_begin();
	__atomic_store_n(&is_on, 1, __ATOMIC_RELEASE);
	api_calls_watch(&watcher);
}
