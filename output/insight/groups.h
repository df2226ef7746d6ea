/*
 * Adds up time by groups of functions, such as the phases of a program or the operators of PyTorch.
 * A stack belongs to the group of its innermost function that has one. A group with GROUP_KEEPS
 * also owns everything it calls.
 */
#ifndef SPROF_GROUPS_H
#define SPROF_GROUPS_H

#include <stdint.h>

struct tree;

#define GROUP_NONE 0u
#define GROUP_KEEPS 0x80000000u /* calls to functions of other groups belong to it too */

struct group_sum {
	/* Without and with the groups that it calls; a group within itself counts once. */
	uint64_t self, total;
	uint64_t self_samples, total_samples;
};

/*
 * `group_of` holds for each function of the tree the number of its group, below `nr`, perhaps or'ed
 * with GROUP_KEEPS. Returns the `nr` sums, which the caller frees; [GROUP_NONE] is the rest.
 */
struct group_sum *groups_add_up(const struct tree *tree, const uint32_t *group_of, uint32_t nr);

#endif
