/*
 * Adds up the samples of a profile by imported module. Frames have roles: code that a module runs
 * at its top level, the import system that finds modules, and everything else.
 */
#include "output/python/python_imports.h"
#include "output/python/python_import_tree.h"
#include "output/tree/stack_sums.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/path.h"
#include "core/profile/column.h"
#include "output/text/text.h"

struct adder {
	const struct profile *p;
	struct python_import_tree tree;
	uint8_t *roles; /* by function: enum role */
};

enum role { ROLE_OTHER = 0, ROLE_MODULE = 1, ROLE_IMPORTER = 2 };

static enum role role_of(const struct profile *p, const struct profile_function *f)
{
	const char *file = profile_str(p, f->file), *name = profile_str(p, f->name);

	if (f->kind != FUNCTION_PYTHON)
		return ROLE_OTHER;
	if (strstr(file, "importlib._bootstrap") || strstr(file, "importlib/_bootstrap"))
		return ROLE_IMPORTER;
	return !strncmp(name, "<module>", 8) ? ROLE_MODULE : ROLE_OTHER;
}

static void add_stack(struct adder *a, const struct profile_stack *s, uint64_t weight,
		      uint64_t samples)
{
	const struct profile *p = a->p;
	bool importing = false;
	uint32_t at = 0;

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first_frame + i]];

		for (uint32_t k = 0; k < f->nr_locations; k++) {
			uint32_t function = p->locations[f->first_location + k].function;

			if (a->roles[function] == ROLE_IMPORTER) {
				importing = true;
			} else if (a->roles[function] == ROLE_MODULE && importing) {
				at = python_import_tree_child(&a->tree, at,
							      p->functions[function].file);
				importing = false;
			}
		}
	}
	if (!at && !importing)
		return;
	if (importing)
		a->tree.im->nodes[at].finding += weight;
	else
		a->tree.im->nodes[at].self += weight;
	for (;; at = a->tree.im->nodes[at].parent) {
		a->tree.im->nodes[at].total += weight;
		a->tree.im->nodes[at].samples += samples;
		if (!at)
			return;
	}
}

void python_imports_init(struct python_imports *im, const struct profile *p,
			 enum profile_column column)
{
	struct stack_sums sums;
	struct adder a = { .p = p, .tree = { .im = im } };

	*im = (struct python_imports){ 0 };
	python_import_tree_child(&a.tree, 0, 0);
	a.roles = xcalloc(p->nr_functions + 1, sizeof(*a.roles));
	for (size_t i = 0; i < p->nr_functions; i++)
		a.roles[i] = (uint8_t)role_of(p, &p->functions[i]);
	stack_sums_init(&sums, p, column);
	for (size_t i = 0; i < p->nr_stacks; i++)
		if (sums.weights[i] || sums.samples[i])
			add_stack(&a, &p->stacks[i], sums.weights[i], sums.samples[i]);
	python_import_tree_fini(&a.tree);
	free(a.roles);
	stack_sums_fini(&sums);
}

void python_imports_fini(struct python_imports *im)
{
	free(im->nodes);
	*im = (struct python_imports){ 0 };
}

/*
 * Returns where in a path the part begins that names the module; the base name if that cannot be
 * told.
 */
static const char *module_part(const char *file)
{
	static const char *const roots[] = { "/site-packages/", "/dist-packages/" };
	const char *base = path_base_name(file), *at;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if ((at = strstr(file, roots[i])))
			return at + strlen(roots[i]);
	at = strstr(file, "/lib/python3");
	if (at && (at = strchr(at + strlen("/lib/"), '/')))
		return at + 1;
	/* A package at another place: its directory says more than __init__.py. */
	if (base > file && !strcmp(base, "__init__.py"))
		for (base--; base > file && base[-1] != '/';)
			base--;
	return *base == '/' ? base + 1 : base;
}

void python_imports_add_name(struct buffer *b, const char *file)
{
	const char *part = module_part(file);
	size_t n = strlen(part);
	struct buffer name = { 0 };

	if (!strncmp(part, "<frozen ", 8) && part[n - 1] == '>') {
		text_add_clean(b, part + 8, n - 9);
		return;
	}
	if (n > 3 && !strcmp(part + n - 3, ".py"))
		n -= 3;
	if (n > 9 && !memcmp(part + n - 9, "/__init__", 9))
		n -= 9;
	for (size_t i = 0; i < n; i++)
		buffer_add_char(&name, part[i] == '/' ? '.' : part[i]);
	text_add_clean(b, name.data, name.size);
	buffer_fini(&name);
}
