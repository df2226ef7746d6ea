/*
 * The samples of one stack and thread, together: for formats that know no single samples.
 */
#ifndef SPROF_STACK_GROUPS_H
#define SPROF_STACK_GROUPS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* The numbers of all samples, those of one stack and thread side by side. The caller frees it. */
uint32_t *stack_groups_order(const struct profile *p);

/* Where in that order the group ends that begins at `first`. */
size_t stack_groups_end(const struct profile *p, const uint32_t *order, size_t first);

#endif
