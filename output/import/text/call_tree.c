/* Keeps the path from the root to the line that was read last; a new line cuts it at its depth. */
#include "output/import/text/call_tree.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"

bool call_tree_enter(struct call_tree *t, size_t depth, uint32_t frame)
{
	if (depth > t->depth)
		return false;
	t->frames = xgrow(t->frames, &t->capacity, depth + 1, sizeof(*t->frames));
	t->frames[depth] = frame;
	t->depth = depth + 1;
	return true;
}

uint32_t call_tree_stack(const struct call_tree *t)
{
	return profile_stack(t->p, t->frames, t->depth);
}

void call_tree_fini(struct call_tree *t)
{
	free(t->frames);
	*t = (struct call_tree){ 0 };
}
