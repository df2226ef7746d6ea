/*
 * How long the recorder waits for the children that look names up (confined_names.h). A hostile
 * file can make its child compute for ever. Each child has a time that grows with the bytes that
 * its files really have; and all children that read files of users other than the caller and root
 * have one budget together, so that their number does not help them.
 */
#ifndef SPROF_NAMES_BUDGET_H
#define SPROF_NAMES_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct symbolizer_opts;

struct names_budget {
	uint64_t others_left_ns;
	bool told;	     /* that it is used up */
	uint64_t nr_limited; /* files of which less was read, for lack of memory */
};

void names_budget_init(struct names_budget *budget, const struct symbolizer_opts *opts);
/* Is a file, of which `fd` is a descriptor, another user's? */
bool names_budget_is_others(int fd);
/* Takes what a child for another user's file has used. */
void names_budget_take(struct names_budget *budget, uint64_t ns);

#endif
