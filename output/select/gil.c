/*
 * Adds up time by the state of the GIL. Each stack is examined once, as there are far fewer stacks
 * than samples.
 */
#include "output/select/gil.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "output/tree/cpython.h"

bool gil_is_wait(const char *name)
{
	return cpython_is(name, "take_gil");
}

static bool is_drop_gil(const char *name)
{
	return cpython_is(name, "drop_gil");
}

/* These release the GIL for work that does not need it. */
static bool is_save_thread(const char *name)
{
	return !strcmp(name, "PyEval_SaveThread") || !strcmp(name, "PyEval_ReleaseThread");
}

static bool is_timed_wait(const char *name)
{
	return strstr(name, "pthread_cond_timedwait") || strstr(name, "pthread_cond_clockwait");
}

static bool is_named(const struct profile *p, const struct profile_frame *frame,
		     bool (*fits)(const char *name))
{
	for (uint32_t i = 0; i < frame->nr_locations; i++) {
		const struct profile_location *at = &p->locations[frame->first_location + i];

		if (fits(profile_str(p, p->functions[at->function].name)))
			return true;
	}
	return false;
}

static bool stack_waits(const struct profile *p, const struct profile_stack *stack)
{
	const struct profile_frame *caller = NULL;
	bool drops = false, saves = false;

	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		const struct profile_frame *frame =
			&p->frames[p->stack_frames[stack->first_frame + i]];

		if (is_named(p, frame, gil_is_wait))
			return true;
		if (caller && cpython_has_frame(p, caller) && is_named(p, frame, is_timed_wait))
			return true;
		drops = drops || is_named(p, frame, is_drop_gil);
		saves = saves || is_named(p, frame, is_save_thread);
		caller = frame;
	}
	return drops && !saves;
}

void gil_add_up(const struct profile *p, enum profile_column column, struct gil_sums *ret_sums)
{
	enum { ASKED = 1, WAITS = 2 };
	uint8_t *stacks = xcalloc(p->nr_stacks + 1, sizeof(*stacks));
	struct gil_sums sums = { 0 };

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint8_t *stack = &stacks[s->stack];

		if (s->column != column)
			continue;
		switch ((enum profile_gil)s->gil) {
		case GIL_HELD: sums.held += s->weight; break;
		case GIL_NO_THREAD: sums.no_thread += s->weight; break;
		case GIL_NOT_HELD:
			if (!*stack)
				*stack = stack_waits(p, &p->stacks[s->stack]) ? WAITS : ASKED;
			*(*stack == WAITS ? &sums.waiting : &sums.released) += s->weight;
			break;
		default: sums.unknown += s->weight;
		}
	}
	free(stacks);
	*ret_sums = sums;
}

bool gil_is_known(const struct profile *p)
{
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].gil != GIL_UNKNOWN)
			return true;
	return false;
}
