/*
 * The stack is taken at the start, because the launches inside must know which entry they belong
 * to; it is the same for all calls from one place, and then costs a comparison.
 */
#include "gpu/agent/flops/flops_call.h"

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/cost.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/base/thread.h"
#include "gpu/agent/flops/flops_graph.h"
#include "gpu/agent/flops/flops_table.h"
#include "gpu/agent/nvtx/capture.h"
#include "gpu/agent/nvtx/range.h"
#include "gpu/agent/stack/launch_stack.h"

/* As calls of CUDA are: not between windows, and not where only launches are counted. */
static bool is_wanted(void)
{
	return agent_collects() && agent_wants(GPU_WANT_FLOPS) && !governor_is_paused() &&
	       !governor_only_counts() && capture_is_open();
}

bool flops_call_begins(struct flops_call *call, const void *frame)
{
	struct thread *t;

	call->thread = NULL;
	if (!is_wanted())
		return false;
	t = thread_self();
	/*
	 * The outermost call is nearer to the root of the stack. If it is not, it was left without
	 * returning.
	 */
	if (!t || (t->flops.frame && (uintptr_t)frame < t->flops.frame))
		return false;
	t->flops = (struct flops_now){ .frame = (uintptr_t)frame };
	call->thread = t;
	return true;
}

void flops_call_is(struct flops_call *call, const char *name, const struct shape *shape)
{
	struct thread *t = call->thread;
	uint64_t begun = clock_ticks();
	const uint32_t classes = agent.region->config.stack_classes;
	struct gpu_flops key = {
		.name = arena_cstring(name),
		.range = range_current(t),
		.type = shape->known ? shape->type : GPU_FLOPS_UNKNOWN,
		.source = shape->source,
	};

	if (agent_wants(GPU_WANT_STACKS) && (!classes || classes >> GPU_API_LAUNCH & 1))
		key.stack = launch_stack(t, (const void *)t->flops.frame);
	call->shape = *shape;
	call->generation = flops_table_generation();
	call->entry = t->flops.entry = flops_table_entry(&key);
	governor_pay(t, begun);
}

int flops_call_ends(struct flops_call *call, int status)
{
	struct flops_now now;

	/* a child forked meanwhile, or a recorder that came since, has not seen the start */
	if (!call->thread || !*agent.alive)
		return status;
	now = call->thread->flops;
	call->thread->flops = (struct flops_now){ 0 };
	if (call->generation != flops_table_generation())
		return status;
	if (status) {
		flops_table_count_failed(call->entry);
	} else if (now.nr_nodes || call->thread->captures) {
		flops_table_count_captured(call->entry);
		flops_graph_node_is(now.first_node, &call->shape);
	} else {
		flops_table_add(call->entry, &call->shape);
	}
	return status;
}
