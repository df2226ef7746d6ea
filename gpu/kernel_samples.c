/*
 * Compares each row of samples with its state at the last flush and writes the difference, as
 * sums.c does for work. The stack of a sample is: the launch, where it is known; the kernel; the
 * source line, or the instruction where there is none; and why the warp waited.
 */
#include "gpu/sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/source.h"
#include "gpu/names.h"
#include "gpu/stack_builder.h"

#define MAX_GROWTH (1ull << 40) /* of a row between two flushes: a target must not ruin the sums */

_Static_assert((int)GPU_LINE_AWAITED == GPU_PC_LINE_AWAITED &&
		       (int)GPU_LINE_KNOWN == GPU_PC_LINE_KNOWN &&
		       (int)GPU_LINE_NONE == GPU_PC_LINE_NONE &&
		       (int)GPU_LINE_NO_CODE == GPU_PC_LINE_NO_CODE,
	       "one numbering");

/* What of a row is in the sink already. */
struct pc_row_state {
	uint64_t samples, idle_samples;
	uint32_t stack; /* of the sink */
	uint32_t fact;	/* index in facts[] */
	bool known;
};

/* "smsp__pcsamp_warps_issue_stalled_long_scoreboard" is known to people as "long_scoreboard". */
static uint32_t stall_name(struct kernel_samples *k, uint32_t string)
{
	static const char marker[] = "issue_stalled_";
	struct buffer text = { 0 };
	const char *found;
	uint32_t id;

	shared_region_string(k->names->region, string, &text);
	found = strstr(buffer_cstring(&text), marker);
	if (!text.size)
		id = sink_cstring(k->names->sink, "[no reason given]");
	else
		id = sink_cstring(k->names->sink, found && found[sizeof(marker) - 1]
							  ? found + sizeof(marker) - 1
							  : buffer_cstring(&text));
	buffer_fini(&text);
	return id;
}

static uint32_t place_frame(struct kernel_samples *k, const struct fact_gpu_pc *f)
{
	struct buffer text = { 0 };
	uint32_t frame;

	if (f->line_state == GPU_LINE_KNOWN) {
		struct buffer path = { 0 };
		const char *slash;

		shared_region_string(k->names->region, (uint32_t)f->file, &path);
		slash = strrchr(buffer_cstring(&path), '/');
		buffer_printf(&text, "%s:%" PRIu64, slash ? slash + 1 : buffer_cstring(&path),
			      f->line);
		buffer_fini(&path);
	} else {
		buffer_printf(&text, "pc+0x%" PRIx64, f->pc);
	}
	frame = names_gpu_frame(k->names, sink_cstring(k->names->sink, buffer_cstring(&text)));
	buffer_fini(&text);
	return frame;
}

/* In `row` the file is a string of the region still. */
static uint32_t stack_of(struct kernel_samples *k, const struct gpu_pc_row *row,
			 const struct fact_gpu_pc *f)
{
	struct stack_builder *b = k->builder;

	stack_builder_start(b);
	if (row->stack) {
		stack_builder_launch(b, row->stack);
		stack_builder_ranges(b, row->range);
	}
	stack_builder_push(b, names_gpu_frame(k->names, (uint32_t)f->kernel));
	stack_builder_push(b, place_frame(k, f));
	stack_builder_push(b, names_gpu_frame(k->names, (uint32_t)f->stall));
	return stack_builder_finish(b);
}

static uint32_t fact_of(struct kernel_samples *k, const struct fact_gpu_pc *f)
{
	uint64_t hash = XXH3_64bits(f, offsetof(struct fact_gpu_pc, file));
	bool is_new;
	uint32_t *index = number_map_at(&k->fact_index, hash, &is_new);

	if (is_new) {
		*index = (uint32_t)k->nr_facts++;
		k->facts = xgrow(k->facts, &k->facts_capacity, k->nr_facts, sizeof(*k->facts));
		k->facts[*index] = *f;
		if (f->line_state == GPU_LINE_KNOWN)
			k->facts[*index].file = names_string(k->names, (uint32_t)f->file);
	}
	return *index;
}

static void make_known(struct kernel_samples *k, struct pc_row_state *state,
		       const struct gpu_pc_row *row)
{
	bool has_line = row->line_state == GPU_PC_LINE_KNOWN;
	const struct fact_gpu_pc f = {
		.pid = (uint64_t)k->names->opts->pid,
		.kernel = names_kernel(k->names, row->function),
		.cubin = row->cubin,
		.pc = row->pc,
		.stall = stall_name(k, row->stall),
		.file = has_line ? row->file : 0,
		.line = has_line ? row->line : 0,
		.line_state = row->line_state,
	};

	state->known = true;
	state->stack = stack_of(k, row, &f);
	state->fact = fact_of(k, &f);
}

static void add_sample(struct kernel_samples *k, uint32_t stack, uint64_t samples, uint64_t now_ns)
{
	const struct profile_sample sample = {
		.time_ns = now_ns,
		.weight = samples,
		.thread = names_thread(k->names, 0),
		.stack = stack,
		.column = COLUMN_GPU_SAMPLES,
	};

	k->names->sink->sample(k->names->sink, &sample);
}

static struct pc_row_state *state_of(struct kernel_samples *k, uint32_t i)
{
	k->states = xgrow_to(k->states, &k->states_capacity, &k->nr_states, i, sizeof(*k->states));
	return &k->states[i];
}

static void look_at(struct kernel_samples *k, uint32_t i, uint64_t now_ns, bool is_last)
{
	struct pc_row_state *state;
	struct gpu_pc_row row;
	struct fact_gpu_pc *f;
	uint64_t samples, idle;

	if (!shared_region_pc_row(k->names->region, i, &row) ||
	    row.line_state >= NR_GPU_LINE_STATES)
		return;
	state = state_of(k, i);
	samples = row.samples - state->samples;
	idle = row.idle_samples - state->idle_samples;
	if (samples >= MAX_GROWTH || idle >= MAX_GROWTH) {
		k->nr_refused++;
		return;
	}
	if ((!samples && !idle) || (row.line_state == GPU_PC_LINE_AWAITED && !is_last))
		return;
	if (!state->known)
		make_known(k, state, &row);
	f = &k->facts[state->fact];
	f->samples += samples;
	f->idle_samples += idle;
	if (samples)
		add_sample(k, state->stack, samples, now_ns);
	k->names->sink->fact(k->names->sink, FACT_GPU_PC, f);
	state->samples = row.samples;
	state->idle_samples = row.idle_samples;
}

void kernel_samples_flush(struct kernel_samples *k, uint64_t now_ns, bool is_last)
{
	uint32_t nr = shared_region_nr_pc_rows(k->names->region);

	for (uint32_t i = 0; i < nr; i++)
		look_at(k, i, now_ns, is_last);
}

void kernel_samples_fini(struct kernel_samples *k)
{
	free(k->states);
	free(k->facts);
	number_map_fini(&k->fact_index);
}
