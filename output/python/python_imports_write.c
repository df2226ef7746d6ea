/* Writes imports as a table, nested below their importers or flat, and as JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "output/python/python_imports.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

struct writer {
	struct grid g;
	const struct python_imports *im;
	const struct profile *p;
	const struct summary *summary;
	const struct python_imports_opts *opts;
	uint32_t *children; /* the children of each node, by total */
	uint32_t *first;    /* children[first[i]] .. children[first[i + 1] - 1] */
	size_t nr_rows;	    /* so far, including those beyond max_rows */
};

static uint64_t own(const struct python_import *n)
{
	return n->self + n->finding;
}

/* By parent, then by total, then by file name. */
static int compare_nested(const void *a, const void *b, void *context)
{
	const struct writer *w = context;
	const struct python_import *x = &w->im->nodes[*(const uint32_t *)a];
	const struct python_import *y = &w->im->nodes[*(const uint32_t *)b];

	return ORDER(x->parent, y->parent) ?: ORDER(y->total, x->total)
	       ?: strcmp(profile_str(w->p, x->file), profile_str(w->p, y->file));
}

static int compare_flat(const void *a, const void *b, void *context)
{
	const struct writer *w = context;
	const struct python_import *x = &w->im->nodes[*(const uint32_t *)a];
	const struct python_import *y = &w->im->nodes[*(const uint32_t *)b];

	return ORDER(own(y), own(x)) ?: ORDER(y->total, x->total)
	       ?: strcmp(profile_str(w->p, x->file), profile_str(w->p, y->file));
}

static void add_value(struct writer *w, uint64_t value)
{
	struct buffer *cell = grid_cell(&w->g);

	if (value && w->im->counted)
		number_add_time(cell, value);
	else if (value)
		summary_add_value(cell, w->summary, value);
}

static void add_module(struct buffer *b, const struct python_imports *im, const struct profile *p,
		       const struct python_import *n)
{
	const char *name = profile_str(p, n->file);

	if (!im->counted)
		python_imports_add_name(b, name);
	else
		text_add_clean(b, name, strlen(name));
}

/* Did all imports of this module fail to find it? */
static bool was_not_found(const struct python_import *n)
{
	return n->failed && n->failed == n->samples;
}

static void add_row(struct writer *w, uint32_t node, unsigned int depth)
{
	const struct python_import *n = &w->im->nodes[node];
	struct buffer name = { 0 };

	w->nr_rows++;
	if (w->opts->max_rows && w->nr_rows > w->opts->max_rows)
		return;
	grid_share(&w->g, n->total, w->im->counted ? w->im->whole : w->summary->total);
	add_value(w, n->total);
	add_value(w, n->self);
	add_value(w, n->finding);
	grid_count(&w->g, n->samples);
	if (node)
		add_module(&name, w->im, w->p, n);
	else
		buffer_add_string(&name, "(all imports)");
	if (was_not_found(n))
		buffer_add_string(&name, " (not found)");
	grid_path(&w->g, buffer_cstring(&name), depth);
	buffer_fini(&name);
}

/* Imports nest some dozens deep; a hostile recording may claim any depth. */
static void add_nested(struct writer *w, uint32_t node, unsigned int depth)
{
	add_row(w, node, depth);
	if (depth > 1000)
		return;
	for (uint32_t i = w->first[node]; i < w->first[node + 1]; i++)
		add_nested(w, w->children[i], depth + 1);
}

static void sort_children(struct writer *w)
{
	size_t nr = w->im->nr_nodes;
	uint32_t at = 0;

	w->children = xmalloc((nr + 1) * sizeof(*w->children));
	w->first = xcalloc(nr + 2, sizeof(*w->first));
	for (uint32_t i = 1; i < nr; i++)
		w->children[i - 1] = i;
	qsort_r(w->children, nr - 1, sizeof(*w->children),
		w->opts->flat ? compare_flat : compare_nested, w);
	for (uint32_t i = 0; i < nr; i++) {
		w->first[i] = at;
		while (at < nr - 1 && w->im->nodes[w->children[at]].parent == i)
			at++;
	}
	w->first[nr] = at;
}

bool python_imports_write(struct buffer *b, const struct python_imports *im,
			  const struct profile *p, const struct summary *summary,
			  const struct python_imports_opts *opts)
{
	const struct grid_column columns[] = {
		{ NULL, "Total%", false },
		{ NULL, "Total", false },
		{ NULL, "Self", false },
		{ NULL, "Finding", false },
		{ "samples", im->counted ? "Imports" : "Samples", false },
		{ NULL, "Module", true },
	};
	static const char *const spare[] = { "samples", NULL };
	struct writer w = { .im = im, .p = p, .summary = summary, .opts = opts };

	if (!im->nodes[0].samples)
		return false;
	text_add_line(b, summary->command);
	buffer_add_string(b, *summary->command ? "\n" : "");
	summary_add_origin(b, summary);
	buffer_add_char(b, '\n');
	if (im->counted)
		buffer_printf(b, "%llu imports, all of them; times of the wall clock",
			      (unsigned long long)im->nodes[0].samples);
	else
		summary_add_trust(b, summary);
	buffer_add_string(b, "\n\n");
	grid_init(&w.g, columns, sizeof(columns) / sizeof(*columns));
	w.g.spare = spare;
	w.g.max_width = opts->columns;
	w.g.unicode = opts->unicode;
	sort_children(&w);
	if (opts->flat) {
		add_row(&w, 0, 0);
		for (size_t i = 0; i + 1 < im->nr_nodes; i++)
			add_row(&w, w.children[i], 0);
	} else {
		add_nested(&w, 0, 0);
	}
	grid_write_text(b, &w.g, 0);
	grid_fini(&w.g);
	if (opts->max_rows && w.nr_rows > opts->max_rows)
		number_add_more(b, w.nr_rows - opts->max_rows, "module", "modules");
	free(w.children);
	free(w.first);
	return true;
}

void python_imports_write_json(struct buffer *b, const struct python_imports *im,
			       const struct profile *p, const struct summary *summary)
{
	buffer_printf(b,
		      "{\n\"version\": 1,\n\"unit\": \"ns\",\n\"total\": %llu,\n\"counted\": "
		      "%s,\n\"modules\": [",
		      (unsigned long long)(im->counted ? im->whole : summary->total),
		      im->counted ? "true" : "false");
	for (size_t i = 0; i < im->nr_nodes; i++) {
		const struct python_import *n = &im->nodes[i];
		struct buffer name = { 0 };

		if (i)
			add_module(&name, im, p, n);
		text_add_json_field(
			b, i ? ",\n{\"module\": " : "\n{\"module\": ", buffer_cstring(&name));
		text_add_json_field(b, ", \"file\": ", im->counted ? "" : profile_str(p, n->file));
		buffer_printf(b,
			      ", \"parent\": %lld, \"self\": %llu, \"finding\": %llu, \"total\": "
			      "%llu, \"samples\": %llu, \"found\": %s}",
			      i ? (long long)n->parent : -1LL, (unsigned long long)n->self,
			      (unsigned long long)n->finding, (unsigned long long)n->total,
			      (unsigned long long)n->samples, was_not_found(n) ? "false" : "true");
		buffer_fini(&name);
	}
	buffer_add_string(b, "\n]\n}\n");
}
