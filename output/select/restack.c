/*
 * Splits each stack into its functions once, however many samples it has, and assembles it again.
 * If all functions of a frame are still there in their order, the frame is reused. Otherwise each
 * of them becomes a frame of its own.
 */
#include "output/select/restack.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/tree/naming.h"

struct writer {
	struct profile *p;
	const struct tree_functions *names;
	uint32_t *part_frames; /* by location: the frame of it alone + 1, 0 = none yet */
	struct stack_part *parts;
	uint32_t *frames;
	size_t parts_capacity, frames_capacity;
};

static size_t split_stack(struct writer *w, const struct profile_stack *s)
{
	struct naming_walk at = { .p = w->p, .names = w->names, .stack = s };
	size_t nr = 0;

	while (naming_next(&at)) {
		w->parts = xgrow(w->parts, &w->parts_capacity, nr + 2, sizeof(*w->parts));
		w->parts[nr++] = (struct stack_part){
			.frame = at.frame,
			.location = at.index,
			.function = FRAME_FUNCTION(at.code),
		};
	}
	return nr;
}

/* Are the parts from `at` on all functions of a frame, in order? Returns their number, or 0. */
static size_t whole_frame(const struct writer *w, size_t at, size_t nr)
{
	const struct stack_part *part = &w->parts[at];
	uint32_t need = w->p->frames[part->frame].nr_locations;

	if (part->location == PART_WHOLE || need <= 1)
		return 1;
	if (nr - at < need)
		return 0;
	for (uint32_t i = 0; i < need; i++)
		if (part[i].frame != part->frame || part[i].location != i)
			return 0;
	return need;
}

static uint32_t part_frame(struct writer *w, const struct stack_part *part)
{
	uint32_t *known =
		&w->part_frames[w->p->frames[part->frame].first_location + part->location];

	if (!*known)
		*known = profile_part_frame(w->p, part->frame, part->location, 1) + 1;
	return *known - 1;
}

static uint32_t assemble_stack(struct writer *w, size_t nr)
{
	size_t nr_frames = 0;

	w->frames = xgrow(w->frames, &w->frames_capacity, nr + 1, sizeof(*w->frames));
	for (size_t at = 0; at < nr;) {
		size_t taken = whole_frame(w, at, nr);

		w->frames[nr_frames++] = taken ? w->parts[at].frame : part_frame(w, &w->parts[at]);
		at += taken ? taken : 1;
	}
	return profile_stack(w->p, w->frames, nr_frames);
}

static bool has_stack(void *context, const struct profile_sample *sample)
{
	const uint32_t *stacks = context;

	return stacks[sample->stack] != PROFILE_NONE;
}

void restack(struct profile *p, const struct tree_functions *names, restack_fn *fn, void *context)
{
	struct writer w = { .p = p, .names = names };
	size_t nr_stacks = p->nr_stacks; /* before new ones are added */
	uint32_t *stacks = xcalloc(nr_stacks + 1, sizeof(*stacks));
	bool *used = xcalloc(nr_stacks + 1, sizeof(*used));

	w.part_frames = xcalloc(p->nr_locations + 1, sizeof(*w.part_frames));
	w.parts = xgrow(NULL, &w.parts_capacity, 1, sizeof(*w.parts));
	for (size_t i = 0; i < p->nr_samples; i++)
		used[p->samples[i].stack] = true;
	for (size_t i = 0; i < nr_stacks; i++) {
		size_t nr = used[i] ? split_stack(&w, &p->stacks[i]) : 0;

		stacks[i] = PROFILE_NONE;
		if (used[i] && fn(context, w.parts, &nr))
			stacks[i] = assemble_stack(&w, nr);
	}
	restack_samples(p, has_stack, stacks);
	for (size_t i = 0; i < p->nr_samples; i++)
		p->samples[i].stack = stacks[p->samples[i].stack];
	free(stacks);
	free(used);
	free(w.part_frames);
	free(w.parts);
	free(w.frames);
}

void restack_samples(struct profile *p,
		     bool (*keep)(void *context, const struct profile_sample *sample),
		     void *context)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample s = p->samples[i];

		if (keep(context, &s)) {
			p->samples[nr++] = s;
			continue;
		}
		p->filtered.weight[s.column] += s.weight;
		p->filtered.nr_samples[s.column]++;
	}
	/*
	 * The recorder counted incomplete stacks of all samples; now their markers must be counted.
	 */
	if (nr != p->nr_samples)
		memset(p->stats.nr_incomplete, 0, sizeof(p->stats.nr_incomplete));
	p->nr_samples = nr;
}
