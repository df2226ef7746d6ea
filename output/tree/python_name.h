/*
 * Compares Python functions, as sprof spells them ("Model.forward (model.py:12)"), with the names
 * and files that rules mention. The file of a function is a path in recordings, but only a base
 * name in collapsed stacks.
 */
#ifndef SPROF_PYTHON_NAME_H
#define SPROF_PYTHON_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The part that the code object calls co_name: "forward", *ret_size bytes within `name`. */
const char *python_name_own(const char *name, size_t *ret_size);

/* Does it have this name in any class or module? "forward" matches Model.forward and forward. */
bool python_name_is(const char *name, const char *function);

/*
 * Is it this file? `path` is the end of a path in whole components ("torch/nn/modules/module.py"),
 * or "<frozen name>". A file without directories is compared by its base name alone.
 */
bool python_file_is(const char *file, const char *path);

#endif
