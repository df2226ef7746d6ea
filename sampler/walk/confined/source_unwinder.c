/* A snapshot unwinder, and what it hands turns of libunwind to. */
#include "sampler/walk/confined/source_unwinder.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "sampler/walk/confined/confined_turns.h"

struct source_unwinder {
	struct snapshot_unwinder *unwinder;
	struct confined_turns *turns; /* NULL without a sandbox */
};

struct source_unwinder *source_unwinder_new(const struct snapshot_ops *ops, void *context,
					    const struct sandbox *sandbox)
{
	struct source_unwinder *u = xcalloc(1, sizeof(*u));
	struct snapshot_ops own = *ops;

	if (sandbox) {
		u->turns = confined_turns_new(ops, context, sandbox);
		own.take_turn = confined_turns_take;
		own.turn_context = u->turns;
	}
	u->unwinder = snapshot_unwinder_new(&own, context);
	return u;
}

void source_unwinder_free(struct source_unwinder *u)
{
	if (!u)
		return;
	snapshot_unwinder_free(u->unwinder);
	confined_turns_free(u->turns);
	free(u);
}

void source_unwinder_forget(struct source_unwinder *u, uint64_t module)
{
	if (!u)
		return;
	snapshot_unwinder_forget(u->unwinder, module);
	if (u->turns)
		confined_turns_forget(u->turns, module);
}

uint64_t source_unwinder_refused(const struct source_unwinder *u)
{
	return u ? snapshot_unwinder_refused(u->unwinder) : 0;
}

struct snapshot_result source_unwind(struct source_unwinder *u,
				     const struct snapshot_sample *sample, uint64_t *frames,
				     size_t max)
{
	return snapshot_unwind(u->unwinder, sample, frames, max);
}
