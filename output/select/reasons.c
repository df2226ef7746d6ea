/* Rewrites stacks with a wait. A stack without one was running when it was sampled. */
#include "output/select/reasons.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/path.h"
#include "core/profile/profile.h"
#include "output/select/gil.h"
#include "output/select/restack.h"
#include "output/tree/functions.h"
#include "output/tree/naming.h"

struct reasons {
	struct profile *p;
	const struct tree_functions *names;
	uint32_t running, gil, gpu, no_lock; /* frames */
	/* The frame that stands for a stack, or at its root. */
	uint32_t (*frame_of)(struct reasons *r, const struct stack_part *parts, size_t nr);
	const bool *of_gil; /* gil_unnamed_functions(); NULL while nothing is refined */
};

bool reasons_known(const struct profile *p)
{
	for (size_t i = 0; i < p->nr_functions; i++)
		if (p->functions[i].kind == FUNCTION_WAIT)
			return true;
	return false;
}

static const struct tree_function *function_of(const struct reasons *r, const struct stack_part *at)
{
	return &r->names->list[at->function];
}

/* The first frame of a wait is its reason; what it was for, and what ended it, may follow. */
static size_t find_wait(const struct reasons *r, const struct stack_part *parts, size_t nr)
{
	size_t i = 0;

	while (i < nr && function_of(r, &parts[i])->kind != FUNCTION_WAIT)
		i++;
	return i;
}

/* Calls of CUDA that return when the GPU has done its work. */
static bool waits_for_gpu(const char *name)
{
	static const char *const calls[] = {
		"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
		"cuStreamSynchronize",	 "cuCtxSynchronize",	  "cuEventSynchronize",
		"cudaThreadSynchronize",
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (begins_with(name, calls[i]))
			return true;
	/* Asynchronous copies return at once. */
	return (begins_with(name, "cudaMemcpy") || begins_with(name, "cuMemcpy")) &&
	       !strstr(name, "Async");
}

static bool waits_for_gil(const struct reasons *r, const struct stack_part *parts, size_t i)
{
	const char *name = function_of(r, &parts[i])->name;

	return gil_is_wait(name) || (i && r->of_gil[parts[i - 1].function] && gil_waits_by(name));
}

static bool refine(void *context, struct stack_part *parts, size_t *nr)
{
	const struct reasons *r = context;
	size_t at = find_wait(r, parts, *nr);
	uint32_t frame = PROFILE_NONE;

	if (at == *nr || !strcmp(function_of(r, &parts[at])->name, "CPU wait"))
		return true;
	for (size_t i = at; i-- && frame == PROFILE_NONE;) {
		const struct tree_function *f = function_of(r, &parts[i]);

		if (f->kind != FUNCTION_NATIVE)
			continue;
		if (waits_for_gil(r, parts, i))
			frame = r->gil;
		else if (waits_for_gpu(f->name))
			frame = r->gpu;
	}
	if (frame != PROFILE_NONE) {
		parts[at].frame = frame;
		parts[at].location = PART_WHOLE;
	}
	return true;
}

static uint32_t reason_frame(struct reasons *r, const struct stack_part *parts, size_t nr)
{
	size_t at = find_wait(r, parts, nr);
	const char *name;

	if (at == nr)
		return r->running;
	name = function_of(r, &parts[at])->name;
	return profile_named_frame(r->p, name, strlen(name), FUNCTION_WAIT);
}

/* The frame above the reason says which lock it was. */
static uint32_t lock_frame(struct reasons *r, const struct stack_part *parts, size_t nr)
{
	size_t at = find_wait(r, parts, nr);
	const char *name = at == nr ? "" : function_of(r, &parts[at])->name;

	if (!strcmp(name, "GIL wait")) {
		name = "GIL";
	} else if (!strcmp(name, "lock wait")) {
		name = at + 1 < nr ? function_of(r, &parts[at + 1])->name : "";
		if (!begins_with(name, "lock "))
			name = "unknown lock";
	} else {
		return r->no_lock;
	}
	return profile_named_frame(r->p, name, strlen(name), FUNCTION_WAIT);
}

static bool replace(void *context, struct stack_part *parts, size_t *nr)
{
	struct reasons *r = context;

	parts[0].frame = r->frame_of(r, parts, *nr);
	parts[0].location = PART_WHOLE;
	*nr = 1;
	return true;
}

static bool add_root(void *context, struct stack_part *parts, size_t *nr)
{
	struct reasons *r = context;
	uint32_t frame = r->frame_of(r, parts, *nr);

	memmove(parts + 1, parts, *nr * sizeof(*parts));
	parts[0].frame = frame;
	parts[0].location = PART_WHOLE;
	++*nr;
	return true;
}

static void rewrite(struct profile *p, restack_fn *fn,
		    uint32_t (*frame_of)(struct reasons *r, const struct stack_part *parts,
					 size_t nr))
{
	struct tree_functions names;
	struct reasons r = { .p = p, .names = &names, .frame_of = frame_of };
	bool *of_gil = NULL;

	r.running = profile_named_frame(p, "running", 7, FUNCTION_NATIVE);
	r.gil = profile_named_frame(p, "GIL wait", 8, FUNCTION_WAIT);
	r.gpu = profile_named_frame(p, "GPU wait", 8, FUNCTION_WAIT);
	r.no_lock = profile_named_frame(p, "no lock", 7, FUNCTION_NATIVE);
	naming_init(&names, p);
	if (fn == refine)
		r.of_gil = of_gil = gil_unnamed_functions(p, &names);
	restack(p, &names, fn, &r);
	free(of_gil);
	tree_functions_fini(&names);
}

void reasons_refine(struct profile *p)
{
	if (reasons_known(p))
		rewrite(p, refine, NULL);
}

void reasons_replace(struct profile *p)
{
	rewrite(p, replace, reason_frame);
}

void reasons_add_root(struct profile *p)
{
	rewrite(p, add_root, reason_frame);
}

void locks_replace(struct profile *p)
{
	rewrite(p, replace, lock_frame);
}

void locks_add_root(struct profile *p)
{
	rewrite(p, add_root, lock_frame);
}
