/*
 * Finds the counted calls of a function of the tree by its name, as its symbol or its code object
 * has it; few functions share a name.
 */
#include "output/python/counted_calls.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/base/path.h"
#include "core/base/search.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/tree/python_name.h"
#include "output/tree/functions.h"

struct call_count {
	const char *name;
	const struct fact_calls *row;
};

static int compare_names(const char *a, size_t n, const char *b, size_t m)
{
	int order = memcmp(a, b, n < m ? n : m);

	return order ?: ORDER(n, m);
}

static int compare_counts(const void *a, const void *b)
{
	const struct call_count *x = a, *y = b;

	return strcmp(x->name, y->name) ?: ORDER(x->row, y->row);
}

void counted_calls_init(struct counted_calls *counts, const struct profile *p)
{
	const struct fact_calls *rows;
	size_t nr;

	rows = facts_rows(p, FACT_CALLS, &nr);
	*counts = (struct counted_calls){ .p = p, .nr = nr };
	counts->list = xcalloc(nr + 1, sizeof(*counts->list));
	for (size_t i = 0; i < nr; i++)
		counts->list[i] =
			(struct call_count){ profile_str(p, (uint32_t)rows[i].name), &rows[i] };
	qsort(counts->list, nr, sizeof(*counts->list), compare_counts);
}

void counted_calls_fini(struct counted_calls *counts)
{
	free(counts->list);
	*counts = (struct counted_calls){ 0 };
}

/* Is the counted function that of the tree? Their names are equal. */
static bool is_counted(const struct profile *p, const struct tree_function *f,
		       const struct fact_calls *c)
{
	if (c->kind != f->kind)
		return false;
	if (c->kind == FUNCTION_NATIVE)
		return !strcmp(path_base_name(profile_str(p, (uint32_t)c->module)), f->module);
	return c->line == f->line && !strcmp(profile_str(p, (uint32_t)c->file), f->file);
}

bool counted_calls_find(const struct counted_calls *counts, const struct tree_function *f,
			uint64_t *ret_calls)
{
	const char *name = f->name;
	size_t size = strlen(name), first;
	bool found = false;

	if (f->kind == FUNCTION_PYTHON)
		name = python_name_own(name, &size);
	first = SEARCH(
		i, counts->nr,
		compare_names(counts->list[i].name, strlen(counts->list[i].name), name, size) < 0);
	*ret_calls = 0;
	for (; first < counts->nr; first++) {
		const struct call_count *c = &counts->list[first];

		if (compare_names(c->name, strlen(c->name), name, size))
			break;
		if (!is_counted(counts->p, f, c->row))
			continue;
		if (c->row->late_ns)
			return false;
		*ret_calls += c->row->calls;
		found = true;
	}
	return found;
}
