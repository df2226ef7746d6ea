/*
 * Finds idle waits. A stack is read from its wait to the root. Functions that only lead to a wait
 * are passed; the first other function decides. A request in progress has a function of its own
 * there, its handler, so a wait inside it is never folded. A stack that lacks the names to tell is
 * kept.
 */
#include "output/select/idle.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/select/idle_functions.h"
#include "output/select/pattern.h"
#include "output/select/reasons.h"
#include "output/tree/functions.h"
#include "output/tree/naming.h"

enum { MAX_LOOPS = 64 };

struct idle {
	bool is_shown;
	struct pattern loops[MAX_LOOPS];
	size_t nr_loops;
};

struct idle *idle_new(void)
{
	return xcalloc(1, sizeof(struct idle));
}

void idle_free(struct idle *idle)
{
	if (!idle)
		return;
	for (size_t i = 0; i < idle->nr_loops; i++)
		pattern_fini(&idle->loops[i]);
	free(idle);
}

void idle_show(struct idle *idle)
{
	idle->is_shown = true;
}

int idle_add_loop(struct idle *idle, const char *text, char *why, size_t why_size)
{
	int err;

	if (idle->nr_loops == MAX_LOOPS) {
		snprintf(why, why_size, "there are more than %d", MAX_LOOPS);
		return -E2BIG;
	}
	err = pattern_init(&idle->loops[idle->nr_loops], text, why, why_size);
	idle->nr_loops += !err;
	return err;
}

struct hints {
	const struct tree_functions *names;
	const struct idle *idle;
	struct idle_hint *of; /* by function */
	bool *known;
};

static struct idle_hint hint_of(struct hints *h, uint32_t function)
{
	const struct tree_function *f = &h->names->list[function];

	if (h->known[function])
		return h->of[function];
	h->known[function] = true;
	h->of[function] = idle_hint_of(f);
	for (size_t i = 0; h->idle && i < h->idle->nr_loops; i++)
		if (pattern_fits(&h->idle->loops[i], f))
			h->of[function].loops = (uint16_t)~IDLE_LOCK;
	return h->of[function];
}

/* The functions of one stack, root first. */
struct functions {
	uint32_t *list;
	size_t nr, capacity;
};

static void read_functions(struct functions *to, const struct profile *p,
			   const struct tree_functions *names, const struct profile_stack *stack)
{
	struct naming_walk at = { .p = p, .names = names, .stack = stack };

	to->nr = 0;
	while (naming_next(&at)) {
		to->list = xgrow(to->list, &to->capacity, to->nr + 1, sizeof(*to->list));
		to->list[to->nr++] = FRAME_FUNCTION(at.code);
	}
}

/* Is function `at` the outermost of the program's own? Says whether a thread began there. */
static bool is_outermost(struct hints *h, const struct functions *stack, size_t at,
			 bool *ret_in_thread)
{
	*ret_in_thread = false;
	for (size_t i = 0; i < at; i++) {
		struct idle_hint hint = hint_of(h, stack->list[i]);

		if (!hint.starts)
			return false;
		*ret_in_thread |= hint.threads;
	}
	return at > 0;
}

/*
 * A loop of the program's own is known by its place: the outermost function itself waits for many
 * descriptors at once, or, in a thread of Python, takes from a queue.
 */
static bool is_own_loop(struct hints *h, const struct functions *stack, size_t at, unsigned waits)
{
	bool in_thread, outermost = is_outermost(h, stack, at, &in_thread);

	return outermost && (waits == IDLE_EPOLL || (in_thread && waits & IDLE_TAKE &&
						     !(waits & (IDLE_COND | IDLE_LOCK))));
}

static bool is_idle(struct hints *h, const struct functions *stack)
{
	const struct tree_function *list = h->names->list;
	unsigned waits = 0;
	size_t i = 0;

	/* What the wait was for, and what ended it, may follow its reason. */
	while (i < stack->nr && list[stack->list[i]].kind != FUNCTION_WAIT)
		i++;
	if (i == stack->nr)
		return false;
	while (i--) {
		struct idle_hint hint = hint_of(h, stack->list[i]);

		waits |= hint.waits;
		if (waits & IDLE_UV)
			waits &= ~(unsigned)IDLE_COND;
		if (waits & IDLE_ACCEPT)
			return true;
		if (hint.loops & waits && !(waits & ~hint.loops))
			return true;
		if (!hint.through)
			return is_own_loop(h, stack, i, waits);
	}
	return false;
}

/* By stack: is it one of an idle wait? */
static bool *find_idle_stacks(const struct profile *p, struct hints *h)
{
	struct functions stack = { 0 };
	bool *is_used = xcalloc(p->nr_stacks + 1, sizeof(*is_used));
	bool *found = xcalloc(p->nr_stacks + 1, sizeof(*found));

	for (size_t i = 0; i < p->nr_samples; i++)
		is_used[p->samples[i].stack] = true;
	for (size_t i = 0; i < p->nr_stacks; i++) {
		if (!is_used[i])
			continue;
		read_functions(&stack, p, h->names, &p->stacks[i]);
		found[i] = is_idle(h, &stack);
	}
	free(stack.list);
	free(is_used);
	return found;
}

static void remove_samples(struct profile *p, const bool *idle_stacks)
{
	bool *threads = xcalloc(p->nr_threads + 1, sizeof(*threads));
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample s = p->samples[i];

		if (!idle_stacks[s.stack]) {
			p->samples[nr++] = s;
			continue;
		}
		p->idle.weight[s.column] += s.weight;
		p->idle.nr_samples[s.column]++;
		if (s.thread < p->nr_threads && !threads[s.thread]) {
			threads[s.thread] = true;
			p->nr_idle_threads++;
		}
	}
	/* The recorder counted incomplete stacks of all samples; now their markers are counted. */
	if (nr != p->nr_samples)
		memset(p->stats.nr_incomplete, 0, sizeof(p->stats.nr_incomplete));
	p->nr_samples = nr;
	free(threads);
}

void idle_fold(struct profile *p, const struct idle *idle)
{
	struct tree_functions names;
	struct hints h = { .names = &names, .idle = idle };
	bool *found;

	if ((idle && idle->is_shown) || !reasons_known(p))
		return;
	naming_init(&names, p);
	h.of = xcalloc(names.nr, sizeof(*h.of));
	h.known = xcalloc(names.nr, sizeof(*h.known));
	found = find_idle_stacks(p, &h);
	remove_samples(p, found);
	free(h.of);
	free(h.known);
	free(found);
	tree_functions_fini(&names);
}
