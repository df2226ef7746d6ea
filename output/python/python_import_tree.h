/* Makes the nodes of struct python_imports for its two sources, samples and counts. */
#ifndef SPROF_PYTHON_IMPORT_TREE_H
#define SPROF_PYTHON_IMPORT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile/intern.h"
#include "output/python/python_imports.h"

/* Starts as zeros, with `im` pointing at an empty struct. */
struct python_import_tree {
	struct python_imports *im;
	size_t capacity;
	struct intern index;
};

/*
 * Returns the node below `parent` for that string (struct python_import.file), and makes it if it
 * does not exist. The first call makes the root.
 */
uint32_t python_import_tree_child(struct python_import_tree *t, uint32_t parent, uint32_t file);
/* Frees the table; the nodes stay. */
void python_import_tree_fini(struct python_import_tree *t);

#endif
