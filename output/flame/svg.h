/*
 * The flame graph as one SVG file. It shows the whole picture without scripts; with scripts one can
 * zoom, search and see the smallest frames. The width of a box is its total, and the width of the
 * dark cap on it, where no child covers it, is its self (layout.h). Names are escaped, so they can
 * neither run as code nor break the file.
 */
#ifndef SPROF_SVG_H
#define SPROF_SVG_H

#include <stdbool.h>

#include "output/tree/summary.h"

struct buffer;
struct diff_view;
struct svg_data_nodes;
struct tree;
struct tree_opts;

/* A column that a picture shows. */
struct svg_column {
	const struct tree *tree;
	struct summary summary;
};

struct svg_opts {
	const char *title;
	bool without_script; /* only the static picture, without script and data */
	/* NULL, or the diff that the tree is of: colours show its changes. */
	const struct diff_view *diff;
	/*
	 * NULL, or another column of the profile, for a butterfly: that column grows down and the
	 * tree grows up, both as wide as the picture. Not with a diff.
	 */
	const struct svg_column *below;
	struct svg_data_nodes *nodes; /* of the tree, from svg_outline(), or NULL; usable once */
};

/*
 * Asks tree_new() for an outline that is enough for a picture, if the tree allows one. Returns what
 * svg_opts.nodes needs if an outline was made, and the caller frees with svg_outline_free().
 */
struct svg_data_nodes *svg_outline(struct tree_opts *opts);
void svg_outline_free(struct svg_data_nodes *nodes);

/* Appends the <svg> element alone, without style sheet, data and script. */
void svg_add(struct buffer *b, const struct tree *tree, const struct summary *summary,
	     const struct svg_opts *opts);

/* Appends the whole file. */
void svg_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
	       const struct svg_opts *opts);

#endif
