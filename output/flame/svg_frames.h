/*
 * The boxes of the static flame graph, their caps, labels and tooltips, as SVG elements.
 */
#ifndef SPROF_SVG_FRAMES_H
#define SPROF_SVG_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "output/flame/layout.h"

struct buffer;
struct diff_row;
struct diff_view;
struct label_name;
struct summary;
struct tree;
struct tree_sum;

/* The geometry; flame.js and its companions have the same numbers. */
enum {
	SVG_WIDTH = 1200,
	SVG_MARGIN = 10, /* left and right of the chart */
	SVG_CHART = SVG_WIDTH - 2 * SVG_MARGIN,
	SVG_ROW = 18,
	SVG_BOX = 17,
	SVG_CAP = 6,
	SVG_PAD = 4,	/* left of a label */
	SVG_MIDDLE = 5, /* between the halves of a butterfly */
	SVG_SLIM = 4,	/* what is narrower has no line around it, there would be nothing left */
	/* Hundredths of a pixel: the widest of the fonts in flame.css at 12 px has 7.23 per column. */
	SVG_COLUMN = 723,
};

struct svg_picture {
	struct buffer *b;
	const struct tree *tree;
	const struct summary *summary;
	const struct diff_view *diff; /* or NULL */
	struct tree_sum *sums;	      /* by function */
	struct diff_row *diff_sums;   /* by function, NULL without a diff */
	struct layout layout;
	uint64_t total; /* of the profile, never 0 */
	unsigned base;	/* y of the root's lower edge; of its upper one where it grows down */
	bool half;	/* of a butterfly: the root says what it shows, and how much that is */
	bool down;	/* the half that grows down from base */
};

/* One <g class="frames"> with everything in it; of a butterfly with both halves, else `below` is NULL. */
void svg_frames_add(struct svg_picture *picture, struct svg_picture *below);

#endif
