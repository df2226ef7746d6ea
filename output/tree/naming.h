/*
 * Names for everything in a profile that a sample uses, where no tree is wanted.
 */
#ifndef SPROF_NAMING_H
#define SPROF_NAMING_H

#include "output/tree/functions.h"

/* As tree_functions_init(), for every stack that exists and every thread. */
void naming_init(struct tree_functions *t, const struct profile *p);

/* By frame: is it in a stack? The caller frees the array. */
bool *naming_frames_used(const struct profile *p);

#endif
