/*
 * Makes the loader forget the name (DT_SONAME) of a library that is mapped. A module that needs a
 * library of that name gets whatever the program's own search finds, as if ours were not there; if
 * that is the same file, the loader still notices by its inode.
 */
#ifndef SPROF_GPU_AGENT_SONAME_H
#define SPROF_GPU_AGENT_SONAME_H

#include <stdbool.h>

#include "gpu/agent/base/image.h"

/* False if the library has no name, or its table cannot be written. */
bool soname_hide(const struct image *image);

#endif
