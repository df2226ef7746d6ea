/*
 * Two columns of one profile by function: how much of the one there is for each of the other, such
 * as instructions per cycle, or page faults per second of CPU time.
 */
#ifndef SPROF_RATIO_H
#define SPROF_RATIO_H

#include "core/profile/profile.h"

struct buffer;
struct tree;

/* Gives the tree, which frees it, its ratio to another column. 0 or -errno, as tree_new(). */
int ratio_add(struct tree *tree, const struct profile *p, enum profile_column per);

/*
 * The column that the values of `column` are best divided by, where the user names none: cycles of
 * instructions. NR_COLUMNS: none.
 */
enum profile_column ratio_usual(const struct profile *p, enum profile_column column);

/* "1.23", or "-" if it is unknown. */
void ratio_add_value(struct buffer *b, double value);

#endif
