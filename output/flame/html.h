/*
 * The flame graph as an HTML page: the picture of svg.h, a table of functions beside it, a timeline
 * and a chart of GPU memory. The file is self-contained, and its content security policy forbids it
 * to load anything.
 */
#ifndef SPROF_HTML_H
#define SPROF_HTML_H

#include <stddef.h>

#include "output/tree/summary.h"
#include "output/flame/svg.h"

struct profile;

/*
 * `p` is the profile of the tree, for the times and threads of its samples (the tree needs
 * sample_nodes), or NULL. The static picture shows `tree`; `others` are further columns that the
 * page can switch to, among them opts->below. With opts->without_script the page is only the static
 * picture.
 */
void html_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		const struct profile *p, const struct svg_column *others, size_t nr_others,
		const struct svg_opts *opts);

#endif
