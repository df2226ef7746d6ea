/*
 * The flame graph as a page: the picture of svg.h, a table of functions beside it, and what a recording
 * knows about time. One file that asks for nothing from anywhere; a content security policy says so.
 */
#ifndef SPROF_HTML_H
#define SPROF_HTML_H

#include <stddef.h>

#include "output/tree/summary.h"
#include "output/flame/svg.h"

struct profile;

/*
 * `p` is the profile of the tree, for the times and threads of its samples (tree_opts.sample_nodes must
 * have been set), or NULL. `others` are what else the page can show, opts->below among them; the static picture is of `tree`.
 * opts->without_script leaves that alone, without table.
 */
void html_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		const struct profile *p, const struct svg_column *others, size_t nr_others,
		const struct svg_opts *opts);

#endif
