/*
 * Finds hints in what was observed of GPUs: busy plus idle time, summed over processes and devices.
 * The idle column names the reason as a thread ("GPU 0 idle: ..."), whose stacks are those of the
 * code that kept the GPU waiting (gpu/blame.c).
 * lint: table
 */
#include "output/hints/gpu_hints.h"

#include <stdbool.h>
#include <string.h>

#include "core/profile/facts.h"
#include "output/hints/hints.h"

enum { LATE = 1, AFTER_SYNC = 2 };

struct gpu_rule {
	const char *code, *title, *remedy;
	size_t field;	  /* offset of a time in fact_gpu_device */
	size_t less;	  /* offset of a time that is subtracted; 0 = none */
	uint32_t reasons; /* instead of `field`: the idle time of these reasons */
	uint32_t min_percent;
	enum profile_column column;
	const char *unless; /* codes of hints that say more, or NULL */
};

#define FIELD(name) offsetof(struct fact_gpu_device, name)

static const struct gpu_rule rules[] = {
	{ .code = "gpu-launch-bound",
	  .title = "the GPU is idle because the host launches too late or too little at once",
	  .remedy = "CUDA graphs or torch.compile(mode=\"reduce-overhead\") launch many kernels at "
		    "once, larger batches make kernels longer; sprof flame --column gpu-idle shows "
		    "what the host does instead",
	  .reasons = LATE,
	  .min_percent = 15,
	  .column = COLUMN_GPU_IDLE },
	{ .code = "gpu-sync-bound",
	  .title = "the GPU is idle after the host has waited for it",
	  .remedy = "wait once per N steps: each wait leaves the GPU without work until the next "
		    "launch; sprof flame --column gpu-idle shows the waits",
	  .reasons = AFTER_SYNC,
	  .min_percent = 10,
	  .column = COLUMN_GPU_IDLE },
	{ .code = "gpu-idle",
	  .title = "the GPU is idle",
	  .remedy =
		  "sprof report --gpu says for which reasons, sprof flame --column gpu-idle under "
		  "which code",
	  .field = FIELD(idle_ns),
	  .min_percent = 30,
	  .column = COLUMN_GPU_IDLE,
	  .unless = "gpu-launch-bound gpu-sync-bound" },
	{ .code = "gpu-copies",
	  .title = "the GPU copies while no kernel runs",
	  .remedy = "pin_memory=True and .to(device, non_blocking=True) on a second stream copy "
		    "while kernels run; sprof report --memcpy says how much is copied",
	  .field = FIELD(copy_ns),
	  .less = FIELD(overlap_ns),
	  .min_percent = 10,
	  .column = COLUMN_GPU },
	{ .code = "gpu-communication",
	  .title = "the GPU communicates while no other kernel runs",
	  .remedy = "overlap communication with the backward pass (bucket sizes, gradient "
		    "accumulation with no_sync()), or look for the rank that comes last",
	  .field = FIELD(exposed_ns),
	  .min_percent = 10,
	  .column = COLUMN_GPU },
};

static uint64_t sum_of(const struct profile *p, size_t field)
{
	const struct fact_gpu_device *d;
	uint64_t sum = 0, value;
	size_t nr;

	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	for (size_t i = 0; i < nr; i++) {
		memcpy(&value, (const char *)&d[i] + field, sizeof(value));
		sum += value;
	}
	return sum;
}

/* What a sample of idle time says of its reason, by the name of its thread. */
static uint32_t reason_of(const struct profile *p, const struct profile_sample *s)
{
	const char *name;

	if (s->thread == PROFILE_NONE)
		return 0;
	name = profile_str(p, p->threads[s->thread].comm);
	if (strstr(name, " idle: launched late") || strstr(name, " idle: launch latency"))
		return LATE;
	return strstr(name, " idle: after a synchronization") ? AFTER_SYNC : 0;
}

static uint64_t add_idle(const struct profile *p, uint32_t reasons, gpu_hints_where where,
			 const void *context, uint64_t *weights)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->column != COLUMN_GPU_IDLE || (reasons && !(reason_of(p, s) & reasons)))
			continue;
		sum += s->weight;
		weights[where(context, s->stack)] += s->weight;
	}
	return sum;
}

static bool is_said(const struct gpu_rule *r, const struct hint *hints, size_t nr)
{
	for (size_t i = 0; r->unless && i < nr; i++)
		if (strstr(r->unless, hints[i].code))
			return true;
	return false;
}

size_t gpu_hints_find(const struct profile *p, gpu_hints_where where, const void *context,
		      uint64_t *weights, uint32_t nr_functions, struct hint *ret_hints,
		      uint32_t *ret_where)
{
	uint64_t whole = sum_of(p, FIELD(busy_ns)) + sum_of(p, FIELD(idle_ns));
	size_t nr = 0;

	_Static_assert(sizeof(rules) / sizeof(*rules) <= MAX_GPU_HINTS, "room for all");
	for (size_t i = 0; whole && i < sizeof(rules) / sizeof(*rules); i++) {
		const struct gpu_rule *r = &rules[i];
		struct hint h = { .code = r->code,
				  .title = r->title,
				  .remedy = r->remedy,
				  .column = r->column,
				  .of = "time of the GPUs",
				  .whole = whole,
				  .min_percent = r->min_percent };
		uint32_t most = 0;

		memset(weights, 0, nr_functions * sizeof(*weights));
		if (r->column == COLUMN_GPU_IDLE)
			h.weight = add_idle(p, r->reasons, where, context, weights);
		if (r->field)
			h.weight = sum_of(p, r->field);
		if (r->less)
			h.weight -= sum_of(p, r->less);
		if (h.weight > whole || h.weight * 100.0 < (double)whole * r->min_percent ||
		    is_said(r, ret_hints, nr))
			continue;
		for (uint32_t f = 1; f < nr_functions; f++)
			if (weights[f] > weights[most] || (!most && weights[f]))
				most = f;
		h.where_weight = most ? weights[most] : 0;
		ret_where[nr] = most;
		ret_hints[nr++] = h;
	}
	return nr;
}
