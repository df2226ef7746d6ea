/* Records of the rings, put in order of time, become stacks and samples. */
#include "sampler/timer/timer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/walk_marker.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/walk/snapshot_lookup.h"

#define SNAPSHOT_WORDS (sizeof(struct agent_snapshot) / 8)

struct queued {
	struct timer_process *process;
	struct agent_sample sample;
	size_t nr_words;
	uint64_t words[];
};

/* ---- the unwinder's view */

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct source *s = context;

	return snapshot_find_mapping(s->unwinding, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct source *s = context;

	return snapshot_open_module(s->codes, module, ret);
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	const struct source *s = context;

	return walk_arena_find_rule(s->arena, (uint32_t)module - 1, vaddr, ret);
}

static struct snapshot_result unwind(struct source *s, const struct timer_process *p,
				     const struct queued *q, uint64_t *frames, size_t max)
{
	static const struct snapshot_ops ops = { .find_mapping = find_mapping,
						 .open_module = open_module,
						 .find_rule = find_rule };
	struct agent_snapshot snapshot;
	struct snapshot_sample sample;

	memcpy(&snapshot, q->words, sizeof(snapshot));
	sample = (struct snapshot_sample){
		.regs = {
			.pc = snapshot.pc,
			.sp = snapshot.gpr[WALK_REG_SP],
			.fp = snapshot.gpr[WALK_REG_FP],
			.exact = !q->sample.in_kernel,
			.leaf_regs = 1,
		},
		.stack = (const uint8_t *)(q->words + SNAPSHOT_WORDS + q->sample.nr_frames),
		.stack_start = snapshot.stack_start,
		.stack_size = snapshot.stack_size,
		.space = (uint64_t)p->maps.pid << 32 | p->maps.epoch,
	};
	memcpy(sample.regs.gpr, snapshot.gpr, sizeof(sample.regs.gpr));
	if (!s->unwinder)
		s->unwinder = snapshot_unwinder_new(&ops, s);
	s->unwinding = &p->maps;
	s->stats.nr_snapshots++;
	return snapshot_unwind(s->unwinder, &sample, frames, max);
}

/* ---- stacks */

/* Of everything that makes a stack what the sink calls it. */
static uint64_t key_of(const struct queued *q)
{
	uint64_t key = (uint64_t)q->process->maps.pid << 32 | q->process->maps.epoch;

	key ^= (uint64_t)(uintptr_t)q->process << 7;
	key = key * 0x9fb21c651e98df25ull ^ (uint64_t)q->sample.end << 8 ^ q->sample.in_kernel ^
	      (uint64_t)q->sample.python_broken << 1 ^ (uint64_t)q->sample.nr_total << 16;
	for (size_t i = 0; i < q->nr_words; i++) {
		key = (key ^ q->words[i]) * 0x9fb21c651e98df25ull;
		key ^= key >> 32;
	}
	return key ? key : 1;
}

static struct known_stack walked_stack(struct source *s, const struct queued *q)
{
	const struct agent_sample *e = &q->sample;
	struct walked w = {
		.user = q->words,
		.nr_user = q->nr_words,
		.marker = walk_marker(e->end),
		.in_kernel = e->in_kernel,
		.python_broken = e->python_broken,
	};
	uint64_t key = key_of(q);
	struct known_stack known;

	if (stack_ids_find(s->keys, key, &known))
		return known;
	if (e->nr_total > e->nr_frames) {
		w.gap = MAX_LEAF_FRAMES;
		w.rotation = (e->nr_total - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;
	}
	known = sample_sink_stack(&s->out, &q->process->maps, &w);
	/* A code object may still be on its way, in another ring. */
	if (timer_knows_codes(q->process, q->words, q->nr_words))
		stack_ids_add(s->keys, key, known);
	return known;
}

static struct known_stack unwound_stack(struct source *s, const struct queued *q)
{
	uint64_t frames[MAX_USER_FRAMES];
	struct walked w = {
		.user = frames,
		.in_kernel = q->sample.in_kernel,
		.python_broken = q->sample.python_broken,
	};
	size_t nr_python = q->sample.nr_frames;
	struct snapshot_result result =
		nr_python ? unwind(s, q->process, q, timer_python_room(s), TIMER_MAX_NATIVE)
			  : unwind(s, q->process, q, frames, MAX_USER_FRAMES);

	w.nr_user = result.nr;
	w.gap = result.gap;
	w.marker = result.marker;
	if (nr_python)
		timer_merge_python(s, q->process, result.sps, q->words + SNAPSHOT_WORDS, nr_python,
				   frames, &w);
	return sample_sink_stack(&s->out, &q->process->maps, &w);
}

static void on_queued(void *context, int kind, const void *data, size_t size)
{
	struct source *s = context;
	const struct queued *q = data;
	const struct agent_sample *e = &q->sample;
	struct timer_process *p = q->process;
	struct profile_sample sample = {
		.time_ns = e->time_ns,
		.weight = e->weight_ns,
		.cpu = e->cpu,
		.column = s->config.clock == AGENT_CLOCK_WALL ? COLUMN_WALL : COLUMN_CPU,
		.gil = e->gil < NR_GIL ? e->gil : GIL_UNKNOWN,
	};
	struct timer_thread *thread = timer_thread(p, e->tid);
	struct known_stack stack = { .stack = thread->last_stack };

	(void)size;
	if (kind == AGENT_REST && stack.stack == PROFILE_NONE)
		return;
	if (e->end == END_NO_MAP || e->end == END_STALE)
		timer_reread(s, p, e->time_ns);
	s->out.python_codes = p->codes;
	if (kind == AGENT_REST)
		sample.gil = thread->last_gil;
	else
		stack = kind == AGENT_SNAPSHOT ? unwound_stack(s, q) : walked_stack(s, q);
	sample.thread = sample_sink_thread(&s->out, (uint32_t)p->maps.pid, (uint32_t)thread->outer,
					   thread->comm);
	sample.stack = thread->last_stack = stack.stack;
	thread->last_gil = sample.gil;
	p->weighed_ns += sample.weight;
	sample_sink_sample(&s->out, &sample, stack);
}

/* ---- the rings */

struct reading {
	struct source *source;
	struct timer_process *process;
	uint64_t now_ns;
};

static void on_record(void *context, const struct agent_sample *sample, const uint64_t *words,
		      size_t nr_words)
{
	const struct reading *r = context;
	struct source *s = r->source;
	uint64_t time = sample->time_ns;
	struct queued *q;

	/* At once: an older sample of another thread may name it already. */
	if (sample->type == AGENT_CODE)
		timer_add_code(r->process, words, nr_words);
	if (!s->start_ns || time < s->start_ns || sample->type == AGENT_CODE)
		return;
	/* a target may write any time it likes */
	if (time > r->now_ns)
		time = r->now_ns;
	q = xmalloc(sizeof(*q) + nr_words * sizeof(*words));
	*q = (struct queued){ .process = r->process, .sample = *sample, .nr_words = nr_words };
	q->sample.time_ns = time;
	memcpy(q->words, words, nr_words * sizeof(*words));
	time_order_push(s->queue, time, sample->type, q, sizeof(*q) + nr_words * sizeof(*words));
	free(q);
}

void timer_read_samples(struct source *s, uint64_t before_ns)
{
	for (struct timer_process *p = s->processes; p; p = p->next) {
		struct reading r = { s, p, monotonic_ns() };

		timer_region_read(&p->region, on_record, &r);
	}
	time_order_take(s->queue, before_ns, on_queued, s);
}
