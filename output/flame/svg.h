/*
 * The flame graph: one SVG file that shows what matters with scripts off, and everything with scripts
 * on. A frame is a light box as wide as its total; a dark cap on it, where no child stands, is as wide
 * as its self (see layout.h). Names in it can neither run nor break the file.
 */
#ifndef SPROF_SVG_H
#define SPROF_SVG_H

#include <stdbool.h>

#include "output/tree/summary.h"

struct buffer;
struct diff_view;
struct tree;

/* A column as a picture shows it. */
struct svg_column {
	const struct tree *tree;
	struct summary summary;
};

struct svg_opts {
	const char *title;
	bool without_script; /* the static picture alone, without the data behind it */
	/* NULL, or the diff whose tree this is: boxes and caps have the colours of its changes. */
	const struct diff_view *diff;
	/*
	 * NULL, or another column of the same profile, for a butterfly: it grows down where the tree
	 * grows up, each as wide as the picture. Not with a diff.
	 */
	const struct svg_column *below;
};

/* The <svg> element alone, without style sheet, data and script. */
void svg_add(struct buffer *b, const struct tree *tree, const struct summary *summary,
	     const struct svg_opts *opts);

/* The file. */
void svg_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
	       const struct svg_opts *opts);

#endif
