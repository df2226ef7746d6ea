/*
 * Counts the samples of a profile by thread and by module. It adds samples up by stack first,
 * because there are far fewer stacks than samples, and then looks at each stack once.
 */
#include "cli/info/info.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"

static int by_samples(const void *a, const void *b)
{
	const struct info_thread *x = a, *y = b;

	return ORDER(y->nr_samples, x->nr_samples) ?: ORDER(x->thread, y->thread);
}

static int by_self(const void *a, const void *b)
{
	const struct info_module *x = a, *y = b;

	return ORDER(y->nr_self, x->nr_self) ?: ORDER(y->nr_total, x->nr_total)
	       ?: ORDER(x->module, y->module);
}

static uint32_t count_processes(const struct profile *p)
{
	uint64_t *processes = xcalloc(p->nr_threads, sizeof(*processes));
	uint32_t nr = 0;

	for (size_t i = 0; i < p->nr_threads; i++)
		processes[i] = hosts_process(&p->threads[i]);
	qsort(processes, p->nr_threads, sizeof(*processes), order_u64);
	for (size_t i = 0; i < p->nr_threads; i++)
		nr += !i || processes[i] != processes[i - 1];
	free(processes);
	return nr;
}

static void count_threads(struct info *info, const struct profile *p)
{
	info->threads = xcalloc(p->nr_threads, sizeof(*info->threads));
	info->nr_threads = p->nr_threads;
	for (size_t i = 0; i < p->nr_threads; i++)
		info->threads[i].thread = (uint32_t)i;
	for (size_t i = 0; i < p->nr_samples; i++) {
		if (p->samples[i].thread != PROFILE_NONE && p->samples[i].column == info->column)
			info->threads[p->samples[i].thread].nr_samples++;
	}
	qsort(info->threads, info->nr_threads, sizeof(*info->threads), by_samples);
	info->nr_processes = count_processes(p);
}

/* A function that is called "libc.so.6+0x97360" after its address is not named. */
static bool is_named(const struct profile *p, const struct profile_frame *f)
{
	const struct profile_location *innermost = &p->locations[f->first_location];

	return f->nr_locations && p->functions[innermost->function].kind != FUNCTION_UNKNOWN;
}

/* counted[module] is 1 + the last stack that counted the module, so recursion counts once. */
static void count_stack(struct info *info, const struct profile *p, size_t at, uint64_t nr_samples,
			uint32_t *counted)
{
	const struct profile_stack *stack = &p->stacks[at];
	const uint32_t *frames = p->stack_frames + stack->first_frame;

	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		const struct profile_frame *frame = &p->frames[frames[i]];
		uint32_t module = frame->module;

		if (i == stack->nr_frames - 1) {
			info->modules[module].nr_self += nr_samples;
			info->modules[module].nr_unnamed += is_named(p, frame) ? 0 : nr_samples;
		}
		if (counted[module] == at + 1)
			continue;
		counted[module] = (uint32_t)at + 1;
		info->modules[module].nr_total += nr_samples;
	}
}

static void count_modules(struct info *info, const struct profile *p)
{
	uint64_t *of_stack = xcalloc(p->nr_stacks, sizeof(*of_stack));
	uint32_t *counted = xcalloc(p->nr_modules, sizeof(*counted));
	size_t kept = 0;

	info->modules = xcalloc(p->nr_modules, sizeof(*info->modules));
	for (size_t i = 0; i < p->nr_samples; i++)
		of_stack[p->samples[i].stack] += p->samples[i].column == info->column;
	for (size_t i = 0; i < p->nr_stacks; i++) {
		if (of_stack[i])
			count_stack(info, p, i, of_stack[i], counted);
	}
	for (size_t i = 0; i < p->nr_modules; i++) {
		uint8_t kind = p->modules[i].kind;

		if (kind == MODULE_MARKER || kind == MODULE_NAMED || kind == MODULE_PYTHON)
			continue;
		info->modules[kept] = info->modules[i];
		info->modules[kept++].module = (uint32_t)i;
	}
	info->nr_modules = kept;
	qsort(info->modules, kept, sizeof(*info->modules), by_self);
	free(counted);
	free(of_stack);
}

static void count_columns(struct info *info, const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		info->nr_samples += s->column == info->column;
		info->columns[s->column].present = true;
		add_clamped(&info->columns[s->column].sum, s->weight);
		for (int c = 0; c < NR_COLUMNS; c++)
			add_clamped(&info->columns[c].events, column_events(p, c, s));
	}
}

/* Waits for the GIL are not CPU time: with them, wall-clock time is the column to judge by. */
static enum profile_column column_of_gil(const struct profile *p, enum profile_column column)
{
	bool present[NR_COLUMNS];

	columns_present(p, present);
	return column == COLUMN_CPU && (present[COLUMN_WAITING] || present[COLUMN_RUNNABLE])
		       ? COLUMN_WALL
		       : column;
}

void info_init(struct info *info, const struct profile *p)
{
	static const char perf[] = "perf "; /* what sampler/perf_data/perf_data.c writes */
	const char *version = profile_str(p, p->meta.version);
	bool is_perf = !strncmp(version, perf, sizeof(perf) - 1);

	*info = (struct info){
		.recorder = is_perf ? "perf" : "sprof",
		.recorder_version = is_perf ? version + sizeof(perf) - 1 : version,
		.column = column_default(p),
	};
	count_columns(info, p);
	info->gil_column = column_of_gil(p, info->column);
	gil_add_up(p, info->gil_column, &info->gil);
	for (int i = 0; i < NR_MARKERS; i++)
		info->nr_incomplete += p->stats.nr_incomplete[i];
	for (size_t i = 0; i < p->nr_frames; i++)
		info->nr_named_frames += is_named(p, &p->frames[i]);
	count_threads(info, p);
	count_modules(info, p);
}

void info_fini(struct info *info)
{
	free(info->threads);
	free(info->modules);
}

double info_duration_s(const struct profile *p)
{
	const struct profile_meta *meta = &p->meta;

	return meta->end_ns > meta->start_ns ? (double)(meta->end_ns - meta->start_ns) / 1e9 : 0;
}

double info_reached_hz(const struct info *info)
{
	const struct info_column *c = &info->columns[info->column];

	if (column_table[info->column].unit != UNIT_NS || !c->sum || c->sum == UINT64_MAX)
		return 0;
	return (double)c->events / (double)c->sum * 1e9;
}
