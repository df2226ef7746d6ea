/*
 * Functions put into groups, such as the phases of a program or the operators of PyTorch, and what the time of
 * each group is. A stack belongs to the group of its innermost function that is in one, or to none; some
 * groups keep everything that they call.
 */
#ifndef SPROF_GROUPS_H
#define SPROF_GROUPS_H

#include <stdint.h>

struct tree;

#define GROUP_NONE 0u
#define GROUP_KEEPS 0x80000000u /* what it calls belongs to it, whatever group that is in */

struct group_sum {
	uint64_t self,
		total; /* without, with the other groups inside; a group in itself counts once */
	uint64_t self_samples, total_samples;
};

/*
 * `group_of` has for each function of the tree a number below `nr`, or'ed with GROUP_KEEPS. Returns `nr` sums;
 * [GROUP_NONE] has what is in no group. The caller frees them.
 */
struct group_sum *groups_add_up(const struct tree *tree, const uint32_t *group_of, uint32_t nr);

#endif
