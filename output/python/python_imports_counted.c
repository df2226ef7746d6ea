/* Adds up imports that were counted one by one (FACT_IMPORT), by module and importer. */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/python/python_import_tree.h"
#include "output/python/python_imports.h"

struct adder {
	struct python_import_tree tree;
	const struct fact_import **rows; /* by id: an importer comes before what it imports */
	uint32_t *nodes;		 /* node of each row */
	size_t nr_rows;
};

static int by_id(const void *a, const void *b)
{
	const struct fact_import *x = *(const struct fact_import *const *)a;
	const struct fact_import *y = *(const struct fact_import *const *)b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->id, y->id) ?: ORDER(x, y);
}

/* The node of the row with that id before `row`; the root if that import has not ended. */
static uint32_t parent_of(const struct adder *a, size_t row)
{
	const struct fact_import *r = a->rows[row];
	size_t at = SEARCH(i, row,
			   a->rows[i]->pid < r->pid ||
				   (a->rows[i]->pid == r->pid && a->rows[i]->id < r->parent));

	return at < row && a->rows[at]->pid == r->pid && a->rows[at]->id == r->parent ? a->nodes[at]
										      : 0;
}

static void add_row(struct adder *a, size_t i)
{
	const struct fact_import *r = a->rows[i];
	uint32_t parent = parent_of(a, i),
		 node = python_import_tree_child(&a->tree, parent, (uint32_t)r->name);
	struct python_import *n = &a->tree.im->nodes[node], *root = a->tree.im->nodes;

	a->nodes[i] = node;
	n->self += r->self_ns;
	n->total += r->total_ns;
	n->samples++;
	n->failed += !r->found;
	root->samples++;
	if (!parent)
		root->total += r->total_ns;
}

bool python_imports_init_counted(struct python_imports *im, const struct profile *p)
{
	struct adder a = { .tree = { .im = im } };
	const struct fact_import *rows;

	rows = facts_rows(p, FACT_IMPORT, &a.nr_rows);
	if (!a.nr_rows)
		return false;
	*im = (struct python_imports){ .counted = true };
	im->whole = p->meta.end_ns > p->meta.start_ns ? p->meta.end_ns - p->meta.start_ns : 0;
	a.rows = xcalloc(a.nr_rows, sizeof(*a.rows));
	a.nodes = xcalloc(a.nr_rows, sizeof(*a.nodes));
	for (size_t i = 0; i < a.nr_rows; i++)
		a.rows[i] = &rows[i];
	qsort(a.rows, a.nr_rows, sizeof(*a.rows), by_id);
	python_import_tree_child(&a.tree, 0, 0);
	for (size_t i = 0; i < a.nr_rows; i++)
		add_row(&a, i);
	python_import_tree_fini(&a.tree);
	free(a.rows);
	free(a.nodes);
	return true;
}
