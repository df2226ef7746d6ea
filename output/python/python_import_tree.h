/* Makes the nodes of struct imports, each once: what imports_init() and imports_init_counted() share. */
#ifndef SPROF_PYTHON_IMPORT_TREE_H
#define SPROF_PYTHON_IMPORT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile/intern.h"
#include "output/python/python_imports.h"

/* Begins as zeros but for `im`, which is empty. */
struct import_tree {
	struct imports *im;
	size_t capacity;
	struct intern index;
};

/* The node below `parent` of that string (struct import_node.file), made where there is none; the first is the root. */
uint32_t import_tree_child(struct import_tree *t, uint32_t parent, uint32_t file);
/* The nodes stay. */
void import_tree_fini(struct import_tree *t);

#endif
