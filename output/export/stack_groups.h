/*
 * Groups the samples of a profile by stack, thread and labels, for formats that have no single
 * samples.
 */
#ifndef SPROF_STACK_GROUPS_H
#define SPROF_STACK_GROUPS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* The indices of all samples, sorted so that each group is a range. The caller frees the array. */
uint32_t *stack_groups_order(const struct profile *p);

/* The end in that order of the group that begins at `first`. */
size_t stack_groups_end(const struct profile *p, const uint32_t *order, size_t first);

#endif
