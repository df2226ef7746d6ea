/*
 * Adds the addresses of samples up by instruction, and decides which instructions of a piece of
 * code belong to the annotated function.
 */
#include "output/annotate/instructions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/*
 * A return address is stored minus one, so it lies inside the call: an address belongs to the
 * instruction that contains it.
 */
void annotation_code_add_up(struct annotation_code *c, const struct annotation_address *addresses,
			    size_t nr)
{
	size_t at = 0;

	c->sums = xcalloc(c->code.nr + 1, sizeof(*c->sums));
	for (size_t i = 0; i < nr && c->code.nr; i++) {
		uint64_t offset = addresses[i].address - c->address;

		while (at + 1 < c->code.nr && c->code.list[at + 1].offset <= offset)
			at++;
		annotation_sum_add(&c->sums[at], &addresses[i].sum);
		annotation_sum_add(&c->sum, &addresses[i].sum);
	}
}

static bool is_from(const struct profile *places, uint32_t frame, const char *name)
{
	const struct profile_frame *f = &places->frames[frame];

	for (uint32_t i = 0; i < f->nr_locations; i++) {
		uint32_t function = places->locations[f->first_location + i].function;

		if (!strcmp(profile_str(places, places->functions[function].name), name))
			return true;
	}
	return false;
}

/*
 * `places` was symbolized now, and `name` comes from the recording. They differ if debug files were
 * installed or removed in between: then all is shown rather than hide instructions with samples.
 */
void annotation_code_choose(struct annotation_code *c, const struct profile *places,
			    const char *name)
{
	bool all = !name;

	c->shown = xcalloc(c->code.nr + 1, sizeof(*c->shown));
	for (size_t i = 0; i < c->code.nr && !all; i++) {
		c->shown[i] = is_from(places, c->frames[i], name);
		all = !c->shown[i] && !annotation_sum_is_empty(&c->sums[i]);
	}
	for (size_t i = 0; i < c->code.nr && all; i++)
		c->shown[i] = true;
}

void annotation_code_fini(struct annotation_code *c)
{
	disassembly_fini(&c->code);
	free(c->sums);
	free(c->frames);
	free(c->targets);
	free(c->shown);
}
