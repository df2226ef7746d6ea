/*
 * Makes frames of the label "parallelism". Samples without it, such as those of other columns, get
 * the frame "[unknown]".
 */
#include "output/select/parallelism.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/labels.h"
#include "core/profile/profile.h"

static uint32_t frame_of(struct profile *p, const struct profile_sample *s)
{
	static const char key[] = "parallelism";
	const char *text = profile_str(p, s->labels);
	char name[48] = "[unknown]";
	struct label l;

	while (labels_next(&text, &l))
		if (l.key_size == sizeof(key) - 1 && !memcmp(l.key, key, l.key_size) &&
		    l.value_size < 20)
			snprintf(name, sizeof(name), "%.*s thread%s", (int)l.value_size, l.value,
				 l.value_size == 1 && *l.value == '1' ? "" : "s");
	return profile_named_frame(p, name, strlen(name), FUNCTION_THREAD);
}

/* Makes each stack anew: the frame of its label and, with `keep`, its old frames above it. */
static void rewrite(struct profile *p, bool keep)
{
	uint32_t *path = NULL;
	size_t capacity = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_stack stack = p->stacks[p->samples[i].stack];
		uint32_t nr = 1;

		path = xgrow(path, &capacity, (size_t)stack.nr_frames + 1, sizeof(*path));
		path[0] = frame_of(p, &p->samples[i]);
		for (uint32_t k = 0; keep && k < stack.nr_frames; k++)
			path[nr++] = p->stack_frames[stack.first_frame + k];
		p->samples[i].stack = profile_stack(p, path, nr);
		if (!keep)
			p->samples[i].thread = PROFILE_NONE;
	}
	free(path);
}

void parallelism_replace(struct profile *p)
{
	rewrite(p, false);
}

void parallelism_add_root(struct profile *p)
{
	rewrite(p, true);
}
