/*
 * Each table is made by the file that owns it; this file only knows all of them. The region comes
 * last, for agent.region says that everything is there.
 */
#include "gpu/agent/prepare.h"

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/estimate.h"
#include "gpu/agent/base/fold.h"
#include "gpu/agent/base/lock.h"
#include "gpu/agent/pc/rows.h"
#include "gpu/agent/base/region_map.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/base/thread.h"
#include "gpu/agent/cupti/activity_keep.h"
#include "gpu/agent/cupti/launch.h"
#include "gpu/agent/flops/cudnn_plan.h"
#include "gpu/agent/flops/flops_graph.h"
#include "gpu/agent/flops/flops_table.h"
#include "gpu/agent/nvtx/range.h"
#include "gpu/agent/stack/capture_stack.h"
#include "gpu/agent/stack/python_stack.h"
#include "gpu/agent/stack/walk_map.h"

int agent_prepare(void)
{
	static int (*const steps[])(void) = {
		region_map_alive,   arena_init,	      thread_init,	python_stack_init,
		launch_init,	    fold_init,	      estimate_init,	range_init,
		capture_stack_init, flops_table_init, flops_graph_init, cudnn_plan_init,
		pc_rows_init,	    region_map,
	};
	int err = 0;

	if (agent.region)
		return 0;
	for (size_t i = 0; !err && i < sizeof(steps) / sizeof(steps[0]); i++)
		err = steps[i]();
	if (err)
		report_words(GPU_FAIL_MEMORY, 0, "cannot map the memory that GPU data needs");
	return err;
}

int agent_prepare_in_child(void)
{
	const struct gpu_region *parent = region_of_parent();
	int err;

	agent_lock_in_child();
	report_in_child();
	walk_map_in_child();
	__atomic_store_n(&agent.collecting, 0, __ATOMIC_RELEASE);
	err = agent_prepare();
	if (!err && parent)
		arena_inherit(parent);
	if (parent)
		region_unmap_parent(parent);
	if (!err) /* from here on the hot paths find everything */
		__atomic_store_n(agent.alive, 1, __ATOMIC_RELEASE);
	return err;
}

void agent_forget(void)
{
	activity_forget();
	region_forget();
	fold_forget();
	estimate_forget();
	flops_table_forget();
	pc_rows_forget();
	range_forget();
	thread_forget_counts();
	report_forget();
}
