/*
 * Which way stacks are looked at: from the leaf, or from one function down or up. As filters, these make of a
 * profile another one; samples without the function are counted as filtered out.
 */
#ifndef SPROF_DIRECTION_H
#define SPROF_DIRECTION_H

struct pattern;
struct profile;

/* Stacks stay as they are, those with such a function. */
void direction_focus(struct profile *p, const struct pattern *pattern);
/* Leaf first; threads are not told apart any more, as they are no leaf of anything. */
void direction_invert(struct profile *p);
/* Stacks begin at the outermost function that fits. */
void direction_callees(struct profile *p, const struct pattern *pattern);
/* That function, then its callers; what it calls is part of it. */
void direction_callers(struct profile *p, const struct pattern *pattern);

#endif
