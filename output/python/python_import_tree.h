/* Makes the nodes of struct python_imports, each once: what python_imports_init() and python_imports_init_counted() share. */
#ifndef SPROF_PYTHON_IMPORT_TREE_H
#define SPROF_PYTHON_IMPORT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile/intern.h"
#include "output/python/python_imports.h"

/* Begins as zeros but for `im`, which is empty. */
struct python_import_tree {
	struct python_imports *im;
	size_t capacity;
	struct intern index;
};

/* The node below `parent` of that string (struct python_import.file), made where there is none; the first is the root. */
uint32_t python_import_tree_child(struct python_import_tree *t, uint32_t parent, uint32_t file);
/* The nodes stay. */
void python_import_tree_fini(struct python_import_tree *t);

#endif
