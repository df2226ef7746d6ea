/*
 * The direction in which stacks are shown: from the leaf, or from one function to its callees or
 * callers. Each function rewrites the stacks of a profile. Samples without the wanted function are
 * counted as filtered out.
 */
#ifndef SPROF_DIRECTION_H
#define SPROF_DIRECTION_H

struct pattern;
struct profile;

/* Keeps the stacks that contain a function that fits. */
void direction_focus(struct profile *p, const struct pattern *pattern);
/* Puts the leaf first. Threads are merged. */
void direction_invert(struct profile *p);
/* Lets stacks begin at their outermost function that fits. Threads are merged. */
void direction_callees(struct profile *p, const struct pattern *pattern);
/* Puts the outermost function that fits first, then its callers. Threads are merged. */
void direction_callers(struct profile *p, const struct pattern *pattern);

#endif
