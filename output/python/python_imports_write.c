/* Writes imports as a table, nested below their importers or flat, and as JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/text/align.h"
#include "output/python/python_imports.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

struct writer {
	struct buffer *b;
	const struct python_imports *im;
	const struct profile *p;
	const struct summary *summary;
	const struct python_imports_opts *opts;
	uint32_t *children; /* the children of each node, by total */
	uint32_t *first;    /* children[first[i]] .. children[first[i + 1] - 1] */
	size_t nr_rows;	    /* so far, including those beyond max_rows */
};

static int descending(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

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

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return descending(x->total, y->total);
	return strcmp(profile_str(w->p, x->file), profile_str(w->p, y->file));
}

static int compare_flat(const void *a, const void *b, void *context)
{
	const struct writer *w = context;
	const struct python_import *x = &w->im->nodes[*(const uint32_t *)a];
	const struct python_import *y = &w->im->nodes[*(const uint32_t *)b];

	if (own(x) != own(y))
		return descending(own(x), own(y));
	if (x->total != y->total)
		return descending(x->total, y->total);
	return strcmp(profile_str(w->p, x->file), profile_str(w->p, y->file));
}

/* The columns before the name, and the least of the name that is shown at any depth. */
enum { NUMBERS = 7 + 3 * 10 + 2, SAMPLES = 9, NAME_MIN = 12, NAME_ENOUGH = 20 };

/* In a narrow terminal, names are worth more than the number of samples. */
static bool has_samples(const struct writer *w)
{
	return !w->opts->columns || w->opts->columns >= NUMBERS + SAMPLES + NAME_ENOUGH;
}

static void add_value(struct writer *w, uint64_t value)
{
	size_t start = w->b->size;

	if (value && w->im->counted)
		number_add_time(w->b, value);
	else if (value)
		summary_add_value(w->b, w->summary, value);
	align_right(w->b, start, 10);
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

/* True if every time it was looked for it was not found. */
static bool was_not_found(const struct python_import *n)
{
	return n->failed && n->failed == n->samples;
}

static void add_row(struct writer *w, uint32_t node, unsigned int depth)
{
	const struct python_import *n = &w->im->nodes[node];
	struct buffer name = { 0 };
	size_t start, left = SIZE_MAX;

	w->nr_rows++;
	if (w->opts->max_rows && w->nr_rows > w->opts->max_rows)
		return;
	start = w->b->size;
	number_add_percent(w->b, n->total, w->im->counted ? w->im->whole : w->summary->total);
	align_right(w->b, start, 7);
	add_value(w, n->total);
	add_value(w, n->self);
	if (!w->im->counted)
		add_value(w, n->finding);
	start = w->b->size;
	if (has_samples(w)) {
		buffer_add_u64(w->b, n->samples);
		align_right(w->b, start, SAMPLES);
	}
	if (w->opts->columns) {
		left = NUMBERS + (has_samples(w) ? SAMPLES : 0);
		left = w->opts->columns > left + NAME_MIN ? w->opts->columns - left : NAME_MIN;
		if (2 * depth > left - NAME_MIN)
			depth = (unsigned int)(left - NAME_MIN) / 2;
		left -= 2 * depth;
	}
	align_add_spaces(w->b, 2 + 2 * depth);
	if (node)
		add_module(&name, w->im, w->p, n);
	else
		buffer_add_string(&name, "(all imports)");
	if (was_not_found(n))
		buffer_add_string(&name, " (not found)");
	align_add_cut(w->b, name.data, name.size, left, w->opts->unicode);
	buffer_add_char(w->b, '\n');
	buffer_fini(&name);
}

/* Imports nest some dozens deep; a hostile recording may claim any depth. */
static void add_nested(struct writer *w, uint32_t node, unsigned int depth)
{
	add_row(w, node, depth < 100 ? depth : 100);
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
	struct writer w = { .b = b, .im = im, .p = p, .summary = summary, .opts = opts };

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
	buffer_printf(b, "\n\n Total%%     Total      Self%s%s  Module\n",
		      im->counted ? "" : "   Finding",
		      !has_samples(&w) ? ""
		      : im->counted    ? "  Imports"
				       : "  Samples");
	sort_children(&w);
	if (opts->flat) {
		add_row(&w, 0, 0);
		for (size_t i = 0; i + 1 < im->nr_nodes; i++)
			add_row(&w, w.children[i], 0);
	} else {
		add_nested(&w, 0, 0);
	}
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
		buffer_add_string(b, i ? ",\n{\"module\": " : "\n{\"module\": ");
		text_add_json(b, buffer_cstring(&name));
		buffer_add_string(b, ", \"file\": ");
		text_add_json(b, im->counted ? "" : profile_str(p, n->file));
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
