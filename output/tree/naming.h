/*
 * Names all frames and threads of a profile, for outputs that need names but no tree.
 */
#ifndef SPROF_NAMING_H
#define SPROF_NAMING_H

#include "output/tree/functions.h"

/* As tree_functions_init(), for the frames of all stacks and all thread names. */
void naming_init(struct tree_functions *t, const struct profile *p);

/* By frame: is it in any stack? The caller frees the array. */
bool *naming_frames_used(const struct profile *p);

#endif
