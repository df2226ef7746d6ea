/*
 * Reverses and cuts stacks through restack(). The pattern is matched once per function, not per
 * stack.
 */
#include "output/select/direction.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/tree/naming.h"
#include "output/select/pattern.h"
#include "output/select/restack.h"

static void reverse(struct stack_part *parts, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		struct stack_part part = parts[i];

		parts[i] = parts[nr - 1 - i];
		parts[nr - 1 - i] = part;
	}
}

/* The index of the outermost function that fits, or nr. */
static size_t find(const bool *fits, const struct stack_part *parts, size_t nr)
{
	size_t at = 0;

	while (at < nr && !fits[parts[at].function])
		at++;
	return at;
}

static bool invert(void *context, struct stack_part *parts, size_t *nr)
{
	(void)context;
	reverse(parts, *nr);
	return true;
}

static bool keep_through(void *context, struct stack_part *parts, size_t *nr)
{
	return find(context, parts, *nr) < *nr;
}

static bool keep_callees(void *context, struct stack_part *parts, size_t *nr)
{
	size_t at = find(context, parts, *nr);

	if (at == *nr)
		return false;
	for (size_t i = at; i < *nr; i++)
		parts[i - at] = parts[i];
	*nr -= at;
	return true;
}

static bool keep_callers(void *context, struct stack_part *parts, size_t *nr)
{
	size_t at = find(context, parts, *nr);

	if (at == *nr)
		return false;
	*nr = at + 1;
	reverse(parts, *nr);
	return true;
}

static void change(struct profile *p, const struct pattern *pattern, restack_fn *fn)
{
	struct tree_functions names;
	bool *fits;

	naming_init(&names, p);
	fits = xcalloc(names.nr, sizeof(*fits));
	for (size_t i = 0; pattern && i < names.nr; i++)
		fits[i] = pattern_fits(pattern, &names.list[i]);
	restack(p, &names, fn, fits);
	free(fits);
	tree_functions_fini(&names);
}

static void turn(struct profile *p, const struct pattern *pattern, restack_fn *fn)
{
	change(p, pattern, fn);
	for (size_t i = 0; i < p->nr_samples; i++)
		p->samples[i].thread = PROFILE_NONE;
}

void direction_focus(struct profile *p, const struct pattern *pattern)
{
	change(p, pattern, keep_through);
}

void direction_invert(struct profile *p)
{
	turn(p, NULL, invert);
}

void direction_callees(struct profile *p, const struct pattern *pattern)
{
	turn(p, pattern, keep_callees);
}

void direction_callers(struct profile *p, const struct pattern *pattern)
{
	turn(p, pattern, keep_callers);
}
