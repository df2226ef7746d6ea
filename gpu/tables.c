/*
 * One function per table. Each keeps the value that it wrote last, to write only rows that have
 * changed.
 */
#include "gpu/tables.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/source.h"
#include "gpu/names.h"
#include "gpu/sums.h"

static uint64_t pid_of(const struct tables *t)
{
	return (uint64_t)t->names->opts->pid;
}

static struct fact_gpu_api *api_row(struct tables *t, uint64_t domain, uint32_t name)
{
	bool is_new;
	uint32_t *index = number_map_at(&t->api_index, domain << 32 | name, &is_new);

	if (is_new) {
		*index = (uint32_t)t->nr_apis;
		t->apis = xgrow(t->apis, &t->apis_capacity, t->nr_apis + 1, sizeof(*t->apis));
		t->apis[t->nr_apis++] = (struct fact_gpu_api){
			.pid = pid_of(t),
			.runtime = domain == GPU_API_RUNTIME,
			.name = name ? names_string(t->names, name)
				     : sink_cstring(t->names->sink, "[calls of no known name]"),
		};
		t->written_apis =
			xreallocarray(t->written_apis, t->nr_apis, sizeof(*t->written_apis));
		t->written_apis[t->nr_apis - 1] = 0;
	}
	return &t->apis[*index];
}

static void flush_apis(struct tables *t)
{
	uint32_t nr = shared_region_nr_apis(t->names->region);
	struct gpu_api api;

	for (size_t i = 0; i < t->nr_apis; i++)
		t->apis[i].calls = t->apis[i].total_ns = t->apis[i].max_ns = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct fact_gpu_api *row;

		if (!shared_region_api(t->names->region, i, &api))
			continue;
		row = api_row(t, i / GPU_MAX_CBIDS % 2, api.name);
		row->calls += api.count;
		row->total_ns += api.total_ns;
		if (api.max_ns > row->max_ns)
			row->max_ns = api.max_ns;
	}
	for (size_t i = 0; i < t->nr_apis; i++) {
		if (t->apis[i].calls == t->written_apis[i])
			continue;
		t->written_apis[i] = t->apis[i].calls;
		t->names->sink->fact(t->names->sink, FACT_GPU_API, &t->apis[i]);
	}
}

/* A number that changes with a range's sums and is never 0. */
static uint64_t range_state(const struct gpu_range_node *node, const struct range_sum *of)
{
	return 1 + node->count + of->launches;
}

static void flush_ranges(struct tables *t)
{
	uint32_t nr = shared_region_nr_ranges(t->names->region);
	struct gpu_range_node node;

	for (uint32_t i = 1; i < nr; i++) {
		struct range_sum of;
		struct fact_range row;

		if (!shared_region_range(t->names->region, i, &node))
			continue;
		t->written_ranges = xgrow_to(t->written_ranges, &t->written_ranges_capacity,
					     &t->nr_written_ranges, i, sizeof(*t->written_ranges));
		of = i < t->sums->nr_ranges ? t->sums->ranges[i] : (struct range_sum){ 0 };
		if (t->written_ranges[i] == range_state(&node, &of))
			continue;
		t->written_ranges[i] = range_state(&node, &of);
		row = (struct fact_range){
			.pid = pid_of(t),
			.id = i,
			.parent = node.parent,
			.name = names_range(t->names, node.name),
			.domain = names_string(t->names, node.domain),
			.depth = node.depth,
			.calls = node.count,
			.total_ns = node.total_ns,
			.min_ns = node.min_ns,
			.max_ns = node.max_ns,
			.gpu_ns = of.gpu_ns,
			.launches = of.launches,
		};
		t->names->sink->fact(t->names->sink, FACT_RANGE, &row);
	}
}

void tables_write_counter(struct tables *t, const char *name, uint64_t value)
{
	const struct fact_gpu_counter row = {
		.pid = pid_of(t),
		.name = sink_cstring(t->names->sink, name),
		.value = value,
	};

	t->names->sink->fact(t->names->sink, FACT_GPU_COUNTER, &row);
}

/* For people and programs. */
static const char *counter_name(uint32_t counter)
{
	static const char *const names[] = {
		[GPU_COUNT_KERNELS] = "kernels",
		[GPU_COUNT_MEMCPYS] = "copies",
		[GPU_COUNT_MEMSETS] = "fills",
		[GPU_COUNT_SYNCS] = "synchronizations",
		[GPU_COUNT_OVERHEADS] = "overheads",
		[GPU_COUNT_GRAPHS] = "graph launches",
		[GPU_COUNT_MEMORY] = "memory events",
		[GPU_COUNT_POOL] = "pool events",
		[GPU_COUNT_OTHER] = "activities of other kinds",
		[GPU_COUNT_UNTIMED] = "activities without a time",
		[GPU_COUNT_CUPTI_DROPPED] = "activities dropped by CUPTI",
		[GPU_COUNT_NO_BUFFER] = "times without a buffer",
		[GPU_COUNT_DISCARDED] = "activities discarded",
		[GPU_COUNT_BAD_RECORD] = "activities not readable",
		[GPU_COUNT_LAUNCHES] = "calls that want a stack",
		[GPU_COUNT_STACK_WALKED] = "stacks walked",
		[GPU_COUNT_STACK_CACHED] = "stacks the same as before",
		[GPU_COUNT_STACK_SHORT] = "calls too short for a stack",
		[GPU_COUNT_STACK_ARENA_FULL] = "stacks without room",
		[GPU_COUNT_STRING_ARENA_FULL] = "names without room",
		[GPU_COUNT_NO_LAUNCH] = "activities without a launch",
		[GPU_COUNT_FOLD_FULL] = "activities summed without a stack",
		[GPU_COUNT_RANGE_FULL] = "ranges without room",
		[GPU_COUNT_RANGE_UNBALANCED] = "ranges not balanced",
		[GPU_COUNT_RANGE_DEEP] = "ranges too deep",
		[GPU_COUNT_THREADS] = "threads",
		[GPU_COUNT_LANES_SHARED] = "threads in the common ring",
		[GPU_COUNT_BUFFERS] = "buffers",
		[GPU_COUNT_CALLBACK_NS] = "ns in callbacks",
		[GPU_COUNT_NVTX_CALLS] = "NVTX calls",
		[GPU_COUNT_NVTX_ADOPTED] = "NVTX copies adopted late",
		[GPU_COUNT_GRAPH_NODES] = "activities in graphs",
		[GPU_COUNT_OUTSIDE] = "activities outside the capture range",
		[GPU_COUNT_RUNNING] = COUNTER_STILL_RUNNING,
		[GPU_COUNT_NOT_BEGUN] = "activities not begun at the end",
		[GPU_COUNT_NODES_LEFT_OUT] = "nodes of graphs without room",
		[GPU_COUNT_WINDOWS] = COUNTER_WINDOWS,
		[GPU_COUNT_WINDOW_NS] = COUNTER_WINDOW_NS,
		[GPU_COUNT_COVERED_NS] = COUNTER_COVERED_NS,
		[GPU_COUNT_UNCOVERED_NS] = COUNTER_UNCOVERED_NS,
		[GPU_COUNT_COST_NS] = "ns of cost that were measured",
		[GPU_COUNT_LAUNCHING_NS] = "ns of launching threads",
		[GPU_COUNT_FLOPS_FULL] = COUNTER_FLOPS_FULL,
		[GPU_COUNT_FLOPS_READ_ONLY] = COUNTER_FLOPS_READ_ONLY,
		[GPU_COUNT_PC_SAMPLES] = COUNTER_PC_SAMPLES,
		[GPU_COUNT_PC_DROPPED] = COUNTER_PC_DROPPED,
		[GPU_COUNT_PC_FOREIGN] = COUNTER_PC_FOREIGN,
		[GPU_COUNT_PC_NO_ROOM] = COUNTER_PC_NO_ROOM,
		[GPU_COUNT_PC_FULL] = COUNTER_PC_FULL,
		[GPU_COUNT_PC_CONTEXTS] = "contexts with samples inside kernels",
		[GPU_COUNT_PC_CUBINS_LEFT_OUT] = "GPU code without room",
	};

	return counter < sizeof(names) / sizeof(*names) ? names[counter] : NULL;
}

static void flush_counters(struct tables *t, const struct gpu_region *header)
{
	for (uint32_t i = 0; i < GPU_MAX_COUNTERS; i++) {
		const char *name = counter_name(i);

		if (!name || header->counters[i] == t->written_counters[i])
			continue;
		t->written_counters[i] = header->counters[i];
		tables_write_counter(t, name, header->counters[i]);
	}
}

static void flush_failures(struct tables *t, const struct gpu_region *header)
{
	for (uint32_t i = 0; i < GPU_MAX_FAILURES; i++) {
		const struct gpu_failure *f = &header->failures[i];
		struct fact_gpu_note row;

		if (!f->code || f->count == t->written_failures[i])
			continue;
		t->written_failures[i] = f->count;
		row = (struct fact_gpu_note){
			.pid = pid_of(t),
			.code = f->code,
			.text = t->names->sink->string(t->names->sink, f->text,
						       strnlen(f->text, sizeof(f->text))),
			.time_ns = f->time_ns,
			.count = f->count,
		};
		t->names->sink->fact(t->names->sink, FACT_GPU_NOTE, &row);
	}
}

void tables_flush(struct tables *t)
{
	struct gpu_region *header = xmalloc(sizeof(*header));

	shared_region_header(t->names->region, header);
	flush_apis(t);
	flush_ranges(t);
	flush_counters(t, header);
	flush_failures(t, header);
	free(header);
}

void tables_fini(struct tables *t)
{
	free(t->apis);
	free(t->written_apis);
	free(t->written_ranges);
	number_map_fini(&t->api_index);
}
