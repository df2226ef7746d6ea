/*
 * The flame graph as a page: the picture of svg.h, a table of functions beside it, and what a recording
 * knows about time. One file that asks for nothing from anywhere; a content security policy says so.
 */
#ifndef SPROF_HTML_H
#define SPROF_HTML_H

#include "output/svg.h"

struct profile;

/*
 * `p` is the profile of the tree, for the times and threads of its samples (tree_opts.sample_nodes must
 * have been set), or NULL. opts->without_script leaves the static picture, without table.
 */
void html_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		const struct profile *p, const struct svg_opts *opts);

#endif
