/*
 * Converts one record of the region into one row: names, thread, and the call's times relative to
 * it.
 */
#include "gpu/activities.h"

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "gpu/api_calls.h"
#include "gpu/names.h"

/* Fills in what only one kind has. */
static void add_kind(struct names *names, const union gpu_any_record *record,
		     struct fact_gpu_activity *row)
{
	switch ((enum gpu_record_type)record->head.type) {
	case GPU_RECORD_KERNEL:
		row->kind = GPU_WORK_KERNEL;
		row->name = names_kernel(names, record->kernel.name);
		row->registers = record->kernel.registers;
		row->shared_bytes =
			(uint64_t)record->kernel.shared_static + record->kernel.shared_dynamic;
		for (int i = 0; i < 3; i++) {
			row->grid[i] = record->kernel.grid[i];
			row->block[i] = record->kernel.block[i];
		}
		return;
	case GPU_RECORD_MEMCPY:
		row->kind = GPU_WORK_MEMCPY;
		row->subkind = record->copy.copy_kind;
		row->bytes = record->copy.bytes;
		break;
	case GPU_RECORD_MEMSET:
		row->kind = GPU_WORK_MEMSET;
		row->subkind = record->set.memory_kind;
		row->bytes = record->set.bytes;
		break;
	case GPU_RECORD_SYNC:
		row->kind = GPU_WORK_SYNC;
		row->subkind = record->sync.sync_type;
		break;
	default: row->kind = GPU_WORK_GRAPH; break;
	}
	row->name = names_work(names, (uint8_t)row->kind, (uint8_t)row->subkind);
}

static void add_call(struct names *names, const struct api_call *call,
		     struct fact_gpu_activity *row)
{
	row->thread = names_thread(names, call->tid);
	row->call = names_string(names, call->name);
	row->call_ahead_ns = row->start_ns - call->start_ns;
	row->call_duration_ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
}

void activities_take(struct activities *a, const union gpu_any_record *record,
		     const struct api_call *call)
{
	const struct gpu_work *w = &record->work;
	uint64_t *room = a->names->opts->activity_room;
	struct fact_gpu_activity row = {
		.pid = (uint64_t)a->names->opts->pid,
		.thread = PROFILE_NONE,
		.device = w->device,
		.context = w->context,
		.stream = w->stream,
		.start_ns = w->start_ns,
		.duration_ns = w->end_ns - w->start_ns,
		.correlation = w->correlation,
		.graph = w->graph,
	};

	if (w->end_ns < w->start_ns)
		return;
	if (!room || !*room) {
		a->nr_left_out++;
		return;
	}
	--*room;
	add_kind(a->names, record, &row);
	if (call)
		add_call(a->names, call, &row);
	a->names->sink->fact(a->names->sink, FACT_GPU_ACTIVITY, &row);
}

void activities_take_collective(struct activities *a, const union gpu_any_record *record,
				const struct api_call *call, uint32_t stack)
{
	const struct gpu_work *w = &record->work;
	uint64_t *room = a->names->opts->collective_room;
	struct fact_collective row = {
		.pid = (uint64_t)a->names->opts->pid,
		.thread = PROFILE_NONE,
		.way = COLLECTIVE_GPU,
		.device = w->device,
		.lane = (uint64_t)w->context << 32 | w->stream,
		.start_ns = w->start_ns,
		.duration_ns = w->end_ns - w->start_ns,
		.stack = stack,
	};

	if (w->end_ns < w->start_ns)
		return;
	if (!room || !*room) {
		a->nr_collectives_left_out++;
		return;
	}
	--*room;
	row.name = names_kernel(a->names, record->kernel.name);
	if (call) {
		row.thread = names_thread(a->names, call->tid);
		row.call_ahead_ns = row.start_ns - call->start_ns;
	}
	a->names->sink->fact(a->names->sink, FACT_COLLECTIVE, &row);
}
