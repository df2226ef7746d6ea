/* A row of one table describes each column, and answers all questions about it. */
#include "core/profile/column.h"

#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/event_name.h"
#include "core/profile/facts.h"

#define EVENT(name)                                                                                \
	{                                                                                          \
		name, name, "samples", "sample", UNIT_COUNT, NR_COLUMNS, false, false, NULL        \
	}

#define TENSORS(name, title, unit, counted_by)                                                     \
	{                                                                                          \
		name, title, "blocks", "block", unit, counted_by, true, false, NULL                \
	}

const struct column_info column_table[NR_COLUMNS] = {
	[COLUMN_CPU] = { "cpu", "CPU time", "samples", "sample", UNIT_NS, NR_COLUMNS, false, false,
			 NULL },
	[COLUMN_COUNT] = { "count", "count", "samples", "sample", UNIT_COUNT, COLUMN_COUNT, false,
			   false, NULL },
	[COLUMN_GPU] = { "gpu", "GPU time", "launches", "launch", UNIT_NS, COLUMN_GPU_LAUNCHES,
			 true, false, NULL },
	[COLUMN_GPU_IDLE] = { "gpu-idle", "GPU idle time", "gaps", "gap", UNIT_NS, COLUMN_GPU_GAPS,
			      true, false, NULL },
	[COLUMN_GPU_LAUNCHES] = { "launches", "GPU launches", "launches", "launch", UNIT_COUNT,
				  COLUMN_GPU_LAUNCHES, true, false, NULL },
	[COLUMN_GPU_GAPS] = { "gpu-gaps", "GPU gaps", "gaps", "gap", UNIT_COUNT, COLUMN_GPU_GAPS,
			      true, false, NULL },
	[COLUMN_GPU_BYTES] = { "gpu-bytes", "bytes copied", "launches", "launch", UNIT_BYTES,
			       COLUMN_GPU_LAUNCHES, true, false, NULL },
	[COLUMN_GPU_MEMORY] = { "gpu-memory", "device memory allocated", "allocations",
				"allocation", UNIT_BYTES, COLUMN_GPU_ALLOCATIONS, true, false,
				NULL },
	[COLUMN_GPU_ALLOCATIONS] = { "gpu-allocations", "device memory allocations", "allocations",
				     "allocation", UNIT_COUNT, COLUMN_GPU_ALLOCATIONS, true, false,
				     NULL },
	[COLUMN_WALL] = { "wall", "wall-clock time", "samples", "sample", UNIT_NS, NR_COLUMNS,
			  false, false, NULL },
	[COLUMN_EVENTS] = { "events", "counted events", "samples", "sample", UNIT_COUNT, NR_COLUMNS,
			    false, false, NULL },
	[COLUMN_ALLOCATED] = { "allocated", "memory allocated", "allocations", "allocation",
			       UNIT_BYTES, COLUMN_ALLOCATIONS, true, true, "alloc_space" },
	[COLUMN_ALLOCATIONS] = { "allocations", "allocations", "allocations", "allocation",
				 UNIT_COUNT, COLUMN_ALLOCATIONS, true, true, "alloc_objects" },
	[COLUMN_LIVE] = { "live", "memory in use", "objects", "object", UNIT_BYTES,
			  COLUMN_LIVE_OBJECTS, true, true, "inuse_space" },
	[COLUMN_LIVE_OBJECTS] = { "live-objects", "objects in use", "objects", "object", UNIT_COUNT,
				  COLUMN_LIVE_OBJECTS, true, true, "inuse_objects" },
	[COLUMN_DELAY] = { "delay", "time blocked", "contentions", "contention", UNIT_NS,
			   COLUMN_CONTENTIONS, true, true, NULL },
	[COLUMN_CONTENTIONS] = { "contentions", "contentions", "contentions", "contention",
				 UNIT_COUNT, COLUMN_CONTENTIONS, true, true, NULL },
	[COLUMN_TIME] = { "time", "time", "entries", "entry", UNIT_NS, NR_COLUMNS, true, true,
			  NULL },
	[COLUMN_BYTES] = { "bytes", "bytes", "entries", "entry", UNIT_BYTES, NR_COLUMNS, true, true,
			   NULL },
	[COLUMN_COST] = { "cost", "cost", "entries", "entry", UNIT_COUNT, NR_COLUMNS, true, true,
			  NULL },
	[COLUMN_WAITING] = { "waiting", "time waiting", "samples", "sample", UNIT_NS, NR_COLUMNS,
			     false, true, NULL },
	[COLUMN_RUNNABLE] = { "runnable", "time waiting for a CPU", "samples", "sample", UNIT_NS,
			      NR_COLUMNS, false, true, NULL },
	[COLUMN_LONG_CALLS] = { "long-calls", "time in long system calls", "calls", "call", UNIT_NS,
				NR_COLUMNS, true, true, NULL },
	[COLUMN_EVENT_1] = EVENT("event-1"),
	[COLUMN_EVENT_1 + 1] = EVENT("event-2"),
	[COLUMN_EVENT_1 + 2] = EVENT("event-3"),
	[COLUMN_EVENT_1 + 3] = EVENT("event-4"),
	[COLUMN_EVENT_1 + 4] = EVENT("event-5"),
	[COLUMN_EVENT_1 + 5] = EVENT("event-6"),
	[COLUMN_EVENT_1 + 6] = EVENT("event-7"),
	[COLUMN_EVENT_8] = EVENT("event-8"),
	[COLUMN_LATENCY] = { "latency", "time, shared by the threads that ran", "samples", "sample",
			     UNIT_NS, NR_COLUMNS, false, true, NULL },
	[COLUMN_GROWTH] = { "resident-growth", "growth of resident memory", "samples", "sample",
			    UNIT_BYTES, NR_COLUMNS, false, true, NULL },
	[COLUMN_LIFETIME] = { "lifetime", "lifetimes of freed blocks", "frees", "free", UNIT_NS,
			      NR_COLUMNS, false, true, NULL },
	[COLUMN_GPU_SAMPLES] = { "gpu-samples", "samples inside GPU kernels", "samples", "sample",
				 UNIT_COUNT, COLUMN_GPU_SAMPLES, false, false, NULL },
	[COLUMN_GPU_ALLOCATED] = TENSORS("gpu-allocated", "GPU memory allocated for tensors",
					 UNIT_BYTES, COLUMN_GPU_BLOCKS),
	[COLUMN_GPU_BLOCKS] = TENSORS("gpu-blocks", "GPU blocks allocated for tensors", UNIT_COUNT,
				      COLUMN_GPU_BLOCKS),
	[COLUMN_GPU_LIVE] = TENSORS("gpu-live", "GPU memory of tensors in use", UNIT_BYTES,
				    COLUMN_GPU_LIVE_BLOCKS),
	[COLUMN_GPU_LIVE_BLOCKS] = TENSORS("gpu-live-blocks", "GPU blocks of tensors in use",
					   UNIT_COUNT, COLUMN_GPU_LIVE_BLOCKS),
	[COLUMN_CPU_ALLOCATED] = TENSORS("cpu-allocated", "CPU memory allocated for tensors",
					 UNIT_BYTES, COLUMN_CPU_BLOCKS),
	[COLUMN_CPU_BLOCKS] = TENSORS("cpu-blocks", "CPU blocks allocated for tensors", UNIT_COUNT,
				      COLUMN_CPU_BLOCKS),
	[COLUMN_CPU_LIVE] = TENSORS("cpu-live", "CPU memory of tensors in use", UNIT_BYTES,
				    COLUMN_CPU_LIVE_BLOCKS),
	[COLUMN_CPU_LIVE_BLOCKS] = TENSORS("cpu-live-blocks", "CPU blocks of tensors in use",
					   UNIT_COUNT, COLUMN_CPU_LIVE_BLOCKS),
};

#define SAMPLED(name, title, unit, pprof_name)                                                     \
	{                                                                                          \
		name, title, "samples", "sample", unit, NR_COLUMNS, false, false, pprof_name       \
	}

/* The rows of the columns of memory if sprof has sampled them. */
static const struct column_info sampled_memory[NR_MEMORY_KINDS][NR_MEMORY_PARTS] = {
	[MEMORY_MALLOC] = {
		SAMPLED("allocated", "memory allocated", UNIT_BYTES, "alloc_space"),
		SAMPLED("allocations", "allocations", UNIT_COUNT, "alloc_objects"),
		SAMPLED("live", "memory in use", UNIT_BYTES, "inuse_space"),
		SAMPLED("live-objects", "objects in use", UNIT_COUNT, "inuse_objects"),
	},
	[MEMORY_GPU_TENSORS] = {
		SAMPLED("gpu-allocated", "GPU memory allocated for tensors", UNIT_BYTES, NULL),
		SAMPLED("gpu-blocks", "GPU blocks allocated for tensors", UNIT_COUNT, NULL),
		SAMPLED("gpu-live", "GPU memory of tensors in use", UNIT_BYTES, NULL),
		SAMPLED("gpu-live-blocks", "GPU blocks of tensors in use", UNIT_COUNT, NULL),
	},
	[MEMORY_CPU_TENSORS] = {
		SAMPLED("cpu-allocated", "CPU memory allocated for tensors", UNIT_BYTES, NULL),
		SAMPLED("cpu-blocks", "CPU blocks allocated for tensors", UNIT_COUNT, NULL),
		SAMPLED("cpu-live", "CPU memory of tensors in use", UNIT_BYTES, NULL),
		SAMPLED("cpu-live-blocks", "CPU blocks of tensors in use", UNIT_COUNT, NULL),
	},
};

bool memory_is_sampled(const struct profile *p, unsigned int column)
{
	if (!column_is_memory(column))
		return false;
	return column_is_tensors(column) ? p->samples_tensors : p->samples_memory;
}

const struct column_info *column_info_of(const struct profile *p, unsigned int column)
{
	if (memory_is_sampled(p, column))
		return &sampled_memory[memory_kind_of(column)][memory_part_of(column)];
	return column_is_event(column) && p->event_columns
		       ? &p->event_columns[column - COLUMN_EVENT_1]
		       : &column_table[column];
}

void column_name_event(struct profile *p, const struct fact_event *event)
{
	struct column_info *info;
	const char *name;

	if (!column_is_event(event->column) || event->name >= p->nr_strings)
		return;
	/* Other names are refused, as they would have to be escaped in each output. */
	name = profile_str(p, (uint32_t)event->name); /* strings of a profile never move */
	if (!event_name_is_plausible(name))
		return;
	if (!p->event_columns) {
		p->event_columns = xcalloc(NR_EVENT_COLUMNS, sizeof(*p->event_columns));
		memcpy(p->event_columns, column_table + COLUMN_EVENT_1,
		       NR_EVENT_COLUMNS * sizeof(*p->event_columns));
	}
	info = &p->event_columns[event->column - COLUMN_EVENT_1];
	info->name = info->title = name;
	info->exact = event->period == 1;
}

unsigned int column_find_event(const struct profile *p, const char *name)
{
	for (unsigned int c = COLUMN_EVENT_1; p->event_columns && c <= COLUMN_EVENT_8; c++)
		if (event_name_is(column_info_of(p, c)->name, name))
			return c;
	return NR_COLUMNS;
}

const struct fact_event *column_event(const struct profile *p, uint64_t column)
{
	const struct fact_event *e;
	size_t nr;

	e = facts_rows(p, FACT_EVENT, &nr);
	for (size_t i = 0; i < nr; i++)
		if (e[i].column == column)
			return &e[i];
	return NULL;
}

uint8_t column_for_event(const struct profile *p, const char *name)
{
	unsigned int c;

	for (c = COLUMN_EVENT_1; c <= COLUMN_EVENT_8; c++) {
		const struct fact_event *e = column_event(p, c);

		if (e && !strcmp(profile_str(p, (uint32_t)e->name), name))
			return (uint8_t)c;
	}
	for (c = COLUMN_EVENT_1; c <= COLUMN_EVENT_8 && column_event(p, c);)
		c++;
	return c <= COLUMN_EVENT_8 ? (uint8_t)c : NR_COLUMNS;
}

const char *column_events_name(const struct column_info *info, uint64_t nr)
{
	return nr == 1 ? info->event : info->events;
}

enum profile_column column_find(const char *name)
{
	int i = 0;

	while (i < NR_COLUMNS && strcmp(column_table[i].name, name) &&
	       strcmp(column_pprof_name(&column_table[i]), name))
		i++;
	return (enum profile_column)i;
}

const char *column_pprof_name(const struct column_info *info)
{
	return info->pprof_name ? info->pprof_name : info->name;
}

void columns_present(const struct profile *p, bool ret_present[NR_COLUMNS])
{
	memset(ret_present, 0, NR_COLUMNS * sizeof(*ret_present));
	for (size_t i = 0; i < p->nr_samples; i++)
		ret_present[p->samples[i].column] = true;
	ret_present[COLUMN_LIFETIME] = false;
}

bool column_is_part_of_wall(unsigned int column)
{
	return column == COLUMN_CPU || column == COLUMN_WAITING || column == COLUMN_RUNNABLE;
}

void columns_add_wall(struct profile *p)
{
	bool present[NR_COLUMNS];
	size_t nr = p->nr_samples;

	columns_present(p, present);
	for (int c = 0; c < NR_COLUMNS; c++)
		present[c] |= p->idle.nr_samples[c] > 0;
	if (!present[COLUMN_CPU] || present[COLUMN_WALL] ||
	    (!present[COLUMN_WAITING] && !present[COLUMN_RUNNABLE]))
		return;
	for (size_t i = 0; i < nr; i++) {
		struct profile_sample s = p->samples[i];

		if (!column_is_part_of_wall(s.column))
			continue;
		s.column = COLUMN_WALL;
		profile_add_sample(p, &s);
	}
	for (int c = 0; c < NR_COLUMNS; c++) {
		if (!column_is_part_of_wall((unsigned int)c))
			continue;
		p->filtered.weight[COLUMN_WALL] += p->filtered.weight[c];
		p->filtered.nr_samples[COLUMN_WALL] += p->filtered.nr_samples[c];
		p->idle.weight[COLUMN_WALL] += p->idle.weight[c];
		p->idle.nr_samples[COLUMN_WALL] += p->idle.nr_samples[c];
	}
	p->meta.first_column = COLUMN_WALL + 1;
	p->meta.weighted = true;
}

/* Counts samples that filters removed, and those that are idle waits. */
static uint64_t nr_removed(const struct profile *p, int column)
{
	return p->filtered.nr_samples[column] + p->idle.nr_samples[column];
}

/* The live memory to show first: the first kind that was recorded. */
static enum profile_column default_live(const struct profile *p)
{
	bool present[NR_COLUMNS];

	columns_present(p, present);
	for (int kind = 0; kind < NR_MEMORY_KINDS; kind++)
		if (present[memory_column((enum memory_kind)kind, MEMORY_ALLOCATED)])
			return memory_column((enum memory_kind)kind, MEMORY_LIVE);
	return COLUMN_LIVE;
}

enum profile_column column_default(const struct profile *p)
{
	bool present[NR_COLUMNS] = { false }, any_cpu_time = false;
	uint8_t first = p->meta.first_column;

	if (p->live.kind != LIVE_AT_END) /* even if none of it is left: that is the answer */
		return default_live(p);
	for (size_t i = 0; i < p->nr_samples && (!any_cpu_time || first); i++) {
		const struct profile_sample *s = &p->samples[i];

		present[s->column] = true;
		any_cpu_time |= s->column == COLUMN_CPU && s->weight;
	}
	if (first && first <= NR_COLUMNS && present[first - 1])
		return (enum profile_column)(first - 1);
	if (any_cpu_time)
		return COLUMN_CPU;
	for (int i = COLUMN_CPU + 1; i < NR_COLUMNS; i++)
		if (present[i])
			return (enum profile_column)i;
	/* No sample is left: the column that would be shown if none were removed. */
	if (first && first <= NR_COLUMNS && nr_removed(p, first - 1))
		return (enum profile_column)(first - 1);
	for (int i = COLUMN_CPU; i < NR_COLUMNS; i++)
		if (nr_removed(p, i))
			return (enum profile_column)i;
	return COLUMN_CPU;
}
