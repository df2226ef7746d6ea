/*
 * An activity record may come before its call has ended, as the callback runs after the driver is
 * done. Such records wait for the next look.
 */
#include "gpu/agent/cupti/activity_keep.h"

#include <string.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/cost.h"
#include "gpu/agent/base/estimate.h"
#include "gpu/agent/base/fold.h"
#include "gpu/agent/base/lane.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/cupti_clock.h"
#include "gpu/agent/cupti/enable.h"
#include "gpu/agent/cupti/graph_level.h"
#include "gpu/agent/cupti/launch.h"
#include "gpu/agent/flops/flops_graph.h"
#include "gpu/agent/nvtx/capture.h"
#include "gpu/agent/stack/capture_stack.h"

#define MAX_WAITING 2048u
#define LATE_CALLS 1024u
#define NAME_SLOTS 4096u
#define CALL_LATE_NS 1000000000u
#define CLOCK_ERROR_NS 1000000u /* more than GPU times, which are interpolated, are ever wrong */

/* A cache by address. The text is compared too: another module may be loaded at the address. */
struct name_slot {
	const char *at;
	uint32_t id;
};

static struct name_slot names[NAME_SLOTS];
static union activity waiting[MAX_WAITING];
static uint32_t nr_waiting;
static uint64_t ignored_before; /* atomic: what ended earlier belonged to the last recorder */
static uint64_t ended_ns;	/* atomic: collecting ended then; 0: it goes on */
static bool knows_last_call;	/* atomic: since the end */
static bool is_cut_off;		/* records are delivered before they are complete */
static uint64_t read_at_ns;	/* when the buffer that is being read was completed */

uint32_t activity_name_id(const char *name)
{
	struct name_slot *slot = &names[((uintptr_t)name >> 3) % NAME_SLOTS];

	if (!name)
		return 0;
	if (slot->at != name || strcmp(arena_text(slot->id), name) != 0)
		*slot = (struct name_slot){ name, arena_cstring(name) };
	return slot->id;
}

void activity_emit(const struct gpu_record *record)
{
	static struct lane lane;

	if (!lane.shared)
		lane_open(0, &lane);
	lane_emit(&lane, record);
}

static uint8_t fold_kind(const union activity *r)
{
	switch (r->head.type) {
	case GPU_RECORD_KERNEL: return GPU_FOLD_KERNEL;
	case GPU_RECORD_MEMCPY: return GPU_FOLD_MEMCPY;
	case GPU_RECORD_MEMSET: return GPU_FOLD_MEMSET;
	case GPU_RECORD_SYNC: return GPU_FOLD_SYNC;
	case GPU_RECORD_GRAPH: return GPU_FOLD_GRAPH;
	case GPU_RECORD_MEMORY:
		return r->memory.op == GPU_MEMORY_ALLOC ? GPU_FOLD_ALLOC : GPU_FOLD_FREE;
	default: return 0;
	}
}

static void fold(const union activity *r)
{
	struct gpu_fold key = {
		.kind = fold_kind(r),
		.device = (uint16_t)r->work.device,
		.stack = r->work.stack,
		.range = r->work.range,
	};
	uint64_t bytes = 0;

	if (!key.kind)
		return;
	switch (r->head.type) {
	case GPU_RECORD_KERNEL:
		key.name = r->kernel.name;
		key.flops = r->kernel.flops;
		if (key.flops && r->work.graph_node)
			flops_node_ran(r->work.graph_node);
		key.registers = r->kernel.registers;
		key.local_bytes = r->kernel.local_bytes;
		key.shared_static = r->kernel.shared_static;
		key.shared_dynamic = r->kernel.shared_dynamic;
		memcpy(key.grid, r->kernel.grid, sizeof(key.grid));
		memcpy(key.block, r->kernel.block, sizeof(key.block));
		break;
	case GPU_RECORD_MEMCPY:
		key.subkind = r->memcpy.copy_kind;
		bytes = r->memcpy.bytes;
		break;
	case GPU_RECORD_MEMSET:
		key.subkind = (uint8_t)r->memset.memory_kind;
		bytes = r->memset.bytes;
		break;
	case GPU_RECORD_SYNC: key.subkind = (uint8_t)r->sync.sync_type; break;
	case GPU_RECORD_MEMORY:
		key.subkind = (uint8_t)r->memory.memory_kind;
		bytes = r->memory.bytes;
		break;
	}
	fold_add(&key, r->work.end_ns - r->work.start_ns, bytes);
	if (r->work.window)
		estimate_add(&key, r->work.end_ns - r->work.start_ns, r->work.window);
}

static void count_without_times(const union activity *r, enum gpu_counter counter)
{
	const struct gpu_rec_untimed record = {
		.head = { GPU_RECORD_UNTIMED, sizeof(record), 0 },
		.correlation = r->work.correlation,
	};

	agent_count(counter, 1);
	launch_has_record(r->work.correlation);
	activity_emit(&record.head);
}

/* Times that cannot be: CUPTI has them on a clock that it does not say it uses. */
static void count_wrong_clock(const union activity *r)
{
	count_without_times(r, GPU_COUNT_UNTIMED);
	report_words(GPU_FAIL_WRONG_CLOCK, 0,
		     "CUPTI delivers records on a clock that is not its own (another tool has "
		     "registered one): they are counted, but in no sum");
}

/* Where windows or a range are collected, work belongs to them by its call. */
static bool is_taken_by_call(void)
{
	return capture_kind() || governor_has_paused();
}

/*
 * Work of a graph has an id that cannot be its launch's. Of a wrong id that is another launch's of
 * a graph nothing shows it, so where CUPTI is known to give wrong ones none is believed.
 */
static enum activity_call forget_call(union activity *r)
{
	r->work.correlation = 0;
	report_words(GPU_FAIL_GRAPH_IDS, 0,
		     is_taken_by_call()
			     ? "CUPTI gives work of CUDA graphs wrong correlation ids: it is left "
			       "out, because it may not belong to the time that is collected"
			     : "CUPTI gives work of CUDA graphs wrong correlation ids: it is shown "
			       "under the code that captured it, and its launch is not known");
	return ACTIVITY_CALL_WRONG;
}

enum activity_call activity_find_call(union activity *r)
{
	bool in_graph = r->work.graph || r->work.graph_node;
	struct launch_info info;

	if (in_graph && !enable_graph_ids_hold())
		return forget_call(r);
	if (!launch_find(r->work.correlation, &info))
		return ACTIVITY_CALL_UNKNOWN;
	if (in_graph && !info.is_of_graph)
		return forget_call(r);
	if (r->work.start_ns + CLOCK_ERROR_NS < info.start_ns) {
		count_wrong_clock(r);
		return ACTIVITY_CALL_LATER;
	}
	launch_has_record(r->work.correlation);
	r->work.stack = r->work.graph_node ? capture_stack_join(r->work.graph_node, info.stack)
					   : info.stack;
	if (r->head.type == GPU_RECORD_KERNEL)
		r->kernel.flops =
			r->work.graph_node ? flops_of_node(r->work.graph_node) : info.flops;
	r->work.range = info.range;
	r->work.window = info.window;
	r->head.tid = info.tid;
	return ACTIVITY_CALL_KNOWN;
}

void activity_keep(const union activity *r)
{
	fold(r);
	activity_emit(&r->head);
}

void activity_reading(uint64_t now_ns)
{
	read_at_ns = now_ns;
}

void activity_set_cut_off(bool cut_off)
{
	is_cut_off = cut_off;
}

/* Of work that waits in a stream when records are cut off, nothing is known but its call. */
static void count_no_times(const union activity *r)
{
	if (is_cut_off && !graph_level_is_used_up()) {
		count_without_times(r, GPU_COUNT_NOT_BEGUN);
		return;
	}
	count_without_times(r, GPU_COUNT_UNTIMED);
	report_words(GPU_FAIL_UNTIMED, 0,
		     "CUPTI delivers records without times (its device buffers are exhausted): "
		     "they are counted, but in no sum");
	graph_level_used_up();
}

bool activity_is_timed(union activity *r)
{
	bool is_running = r->work.start_ns && !r->work.end_ns;

	if (!r->work.start_ns || (!is_running && r->work.end_ns < r->work.start_ns)) {
		count_no_times(r);
		return false;
	}
	cupti_clock_convert(&r->work.start_ns, &r->work.end_ns);
	if (is_running) /* a start that is some us wrong may lie ahead */
		r->work.end_ns = read_at_ns > r->work.start_ns ? read_at_ns : r->work.start_ns;
	if (r->work.end_ns > read_at_ns + CLOCK_ERROR_NS || r->work.end_ns < r->work.start_ns) {
		count_wrong_clock(r);
		return false;
	}
	agent_count(GPU_COUNT_RUNNING, is_running);
	return true;
}

static bool belongs_to_last_recorder(const union activity *r)
{
	return r->work.end_ns < __atomic_load_n(&ignored_before, __ATOMIC_RELAXED);
}

void activity_set_end(uint64_t end_ns)
{
	__atomic_store_n(&knows_last_call, false, __ATOMIC_RELAXED);
	__atomic_store_n(&ended_ns, end_ns, __ATOMIC_RELEASE);
}

/*
 * Was the work, whose call was not seen, launched between the end of collecting and that of CUPTI's
 * records? Ids count up.
 */
static bool came_after_the_end(const union activity *r)
{
	static uint32_t last_call;
	uint64_t end = __atomic_load_n(&ended_ns, __ATOMIC_ACQUIRE);

	if (!end || r->work.start_ns + CLOCK_ERROR_NS < end)
		return false;
	if (!r->work.correlation)
		return true;
	if (!__atomic_exchange_n(&knows_last_call, true, __ATOMIC_RELAXED))
		last_call =
			launch_latest(__atomic_load_n(&agent.region->active_ns, __ATOMIC_RELAXED));
	return last_call && (int32_t)(r->work.correlation - last_call) > 0;
}

/*
 * For work whose call was outside the capture windows, or was not seen. Of what was called before
 * this recorder came, only the time since then counts.
 */
static void take_without_call(union activity *r)
{
	uint64_t begun = __atomic_load_n(&agent.region->active_ns, __ATOMIC_RELAXED);

	if (belongs_to_last_recorder(r) || came_after_the_end(r))
		return;
	if (is_taken_by_call()) {
		agent_count(GPU_COUNT_OUTSIDE, 1);
		return;
	}
	agent_count(GPU_COUNT_NO_LAUNCH, 1);
	if (r->work.end_ns < begun)
		return;
	if (r->work.start_ns < begun)
		r->work.start_ns = begun;
	if (r->work.graph_node)
		r->work.stack = capture_stack_join(r->work.graph_node, 0);
	if (r->work.graph_node && r->head.type == GPU_RECORD_KERNEL)
		r->kernel.flops = flops_of_node(r->work.graph_node);
	activity_keep(r);
}

void activity_forget(void)
{
	__atomic_store_n(&ignored_before, clock_now_ns(), __ATOMIC_RELAXED);
}

/* Keeps an activity that has times, if its call is known. False: look again later. */
static bool settle(union activity *r)
{
	enum activity_call call = activity_find_call(r);

	if (call == ACTIVITY_CALL_WRONG)
		take_without_call(r);
	else if (call == ACTIVITY_CALL_KNOWN && !belongs_to_last_recorder(r))
		activity_keep(r);
	return call != ACTIVITY_CALL_UNKNOWN;
}

void activity_settle_waiting(bool last)
{
	uint64_t now = clock_now_ns();
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr_waiting; i++) {
		if (settle(&waiting[i]))
			continue;
		/* the thread of the call may have lost its CPU before the callback at its exit */
		if (last || now > waiting[i].work.end_ns + CALL_LATE_NS)
			take_without_call(&waiting[i]);
		else
			waiting[kept++] = waiting[i];
	}
	nr_waiting = kept;
}

/*
 * Makes room in the full list. Work of calls before a capture window fills it, too, when its
 * records come late, and nothing will ever be found for that. Ids count up, and a call that has not
 * returned yet has one of the latest; where all of them are late, the list's older half goes.
 */
static void give_up_old_calls(void)
{
	uint32_t latest = waiting[0].work.correlation, kept = 0;
	bool all_late = true;

	for (uint32_t i = 1; i < nr_waiting; i++)
		if ((int32_t)(waiting[i].work.correlation - latest) > 0)
			latest = waiting[i].work.correlation;
	for (uint32_t i = 0; i < nr_waiting; i++)
		all_late &= latest - waiting[i].work.correlation < LATE_CALLS;
	for (uint32_t i = 0; i < nr_waiting; i++)
		if (all_late ? i < nr_waiting / 2
			     : latest - waiting[i].work.correlation >= LATE_CALLS)
			take_without_call(&waiting[i]);
		else
			waiting[kept++] = waiting[i];
	nr_waiting = kept;
}

static void await_call(const union activity *r)
{
	if (nr_waiting == MAX_WAITING)
		activity_settle_waiting(false);
	if (nr_waiting == MAX_WAITING)
		give_up_old_calls();
	waiting[nr_waiting++] = *r;
}

void activity_take(union activity *r)
{
	/*
	 * Asked before the call is looked for: the window may close in between, but not before the
	 * calls in it are noted.
	 */
	bool is_open = capture_is_open();

	if (!activity_is_timed(r))
		return;
	if (!r->work.correlation && is_open)
		activity_keep(r);
	else if (r->work.correlation && settle(r))
		return;
	else if (is_open)
		await_call(r);
	else
		take_without_call(r);
}
