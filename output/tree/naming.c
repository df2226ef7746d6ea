/* Marks the frames and thread names in use and leaves the naming to functions.c. */
#include "output/tree/naming.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"

bool *naming_frames_used(const struct profile *p)
{
	bool *used = xcalloc(p->nr_frames + 1, sizeof(*used));

	for (size_t i = 0; i < p->nr_stack_frames; i++)
		if (p->stack_frames[i] != PROFILE_NONE)
			used[p->stack_frames[i]] = true;
	return used;
}

void naming_init(struct tree_functions *t, const struct profile *p)
{
	bool *frame_used = naming_frames_used(p);
	bool *comm_used = xcalloc(p->nr_strings + 1, sizeof(*comm_used));

	for (size_t i = 0; i < p->nr_threads; i++)
		comm_used[p->threads[i].comm] = true;
	tree_functions_init(t, p, frame_used, comm_used, false);
	free(frame_used);
	free(comm_used);
}

bool naming_next(struct naming_walk *w)
{
	const struct profile_stack *s = w->stack;

	for (; w->next_frame < s->nr_frames; w->next_frame++, w->next_index = 0) {
		uint32_t frame = w->p->stack_frames[s->first_frame + w->next_frame];
		const struct profile_frame *f = &w->p->frames[frame];
		size_t at = w->names->first[frame] + w->next_index;

		if (at == w->names->first[frame + 1])
			continue;
		w->frame = frame;
		w->index = w->next_index++;
		w->code = w->names->codes[at];
		w->line = f->nr_locations ? w->p->locations[f->first_location + w->index].line : 0;
		return true;
	}
	return false;
}
