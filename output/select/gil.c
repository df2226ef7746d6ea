/*
 * Adds up time by the state of the GIL. Each stack is examined once, as there are far fewer stacks
 * than samples.
 */
#include "output/select/gil.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "output/tree/cpython.h"
#include "output/tree/naming.h"

bool gil_is_wait(const char *name)
{
	return cpython_is(name, "take_gil");
}

static bool is_drop_gil(const char *name)
{
	return cpython_is(name, "drop_gil");
}

/* Is it a function of CPython that releases the GIL for work that does not need it? */
static bool is_save_thread(const char *name)
{
	return !strcmp(name, "PyEval_SaveThread") || !strcmp(name, "PyEval_ReleaseThread");
}

static bool is_timed_wait(const char *name)
{
	return strstr(name, "pthread_cond_timedwait") || strstr(name, "pthread_cond_clockwait");
}

/* Is it a function for conditions? CPython has only the two of the GIL on Linux. */
static bool is_of_condition(const char *name)
{
	return is_timed_wait(name) || strstr(name, "pthread_cond_wait") ||
	       strstr(name, "pthread_cond_signal");
}

bool gil_waits_by(const char *callee)
{
	return is_of_condition(callee) || strstr(callee, "pthread_mutex_lock");
}

bool *gil_unnamed_functions(const struct profile *p, const struct tree_functions *names)
{
	bool *of_gil = xcalloc(names->nr + 1, sizeof(*of_gil));

	for (size_t i = 0; i < p->nr_stacks; i++) {
		struct naming_walk at = { .p = p, .names = names, .stack = &p->stacks[i] };
		uint32_t caller = PROFILE_NONE, caller_frame = 0;

		for (; naming_next(&at); caller = FRAME_FUNCTION(at.code), caller_frame = at.frame)
			if (caller != PROFILE_NONE &&
			    cpython_has_frame(p, &p->frames[caller_frame]) &&
			    is_of_condition(names->list[FRAME_FUNCTION(at.code)].name))
				of_gil[caller] = true;
	}
	return of_gil;
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
	bool present[NR_COLUMNS], of_parts;

	columns_present(p, present);
	of_parts = column == COLUMN_WALL && !present[COLUMN_WALL] &&
		   (present[COLUMN_WAITING] || present[COLUMN_RUNNABLE]);

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint8_t *stack = &stacks[s->stack];

		if (of_parts ? !column_is_part_of_wall(s->column) : s->column != column)
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
