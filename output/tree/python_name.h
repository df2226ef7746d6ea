/*
 * Python functions as sprof shows them, "Model.forward (model.py:12)", asked whether they are the one that a
 * rule means. The file of a function is a path in a recording, and a base name in collapsed stacks.
 */
#ifndef SPROF_PYTHON_NAME_H
#define SPROF_PYTHON_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The function's own name in it, as its code object has it: "forward"; *ret_size bytes of `name`. */
const char *python_name_own(const char *name, size_t *ret_size);

/* Is it this function, whatever it is defined in: "forward" is Model.forward and forward. */
bool python_name_is(const char *name, const char *function);

/*
 * Is it this file: `path` is the end of its path in whole components ("torch/nn/modules/module.py"), or
 * "<frozen name>". A file without directories is compared by its base name alone.
 */
bool python_file_is(const char *file, const char *path);

#endif
