/*
 * Makes the nodes of imports. A hash table finds a node by its parent and its module, so each
 * module is one node per importer.
 */
#include "output/python/python_import_tree.h"

#include <xxhash.h>

#include "core/base/alloc.h"

static bool node_equal(const void *owner, uint32_t id, const void *key)
{
	const struct python_import *n = &((const struct python_imports *)owner)->nodes[id];
	const uint32_t *k = key;

	return n->parent == k[0] && n->file == k[1];
}

uint32_t python_import_tree_child(struct python_import_tree *t, uint32_t parent, uint32_t file)
{
	uint32_t key[2] = { parent, file };
	struct python_imports *im = t->im;
	uint32_t id = intern_id(&t->index, (uint32_t)XXH3_64bits(key, sizeof(key)),
				(uint32_t)im->nr_nodes, node_equal, im, key);

	if (id == im->nr_nodes) {
		im->nodes = xgrow(im->nodes, &t->capacity, im->nr_nodes + 1, sizeof(*im->nodes));
		im->nodes[im->nr_nodes++] =
			(struct python_import){ .parent = parent, .file = file };
	}
	return id;
}

void python_import_tree_fini(struct python_import_tree *t)
{
	intern_fini(&t->index);
}
