/*
 * The frames of the static flame graph as SVG elements: boxes, caps, labels and tooltips. Lengths
 * are in pixels.
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

/* The geometry, which flame_draw.js repeats. */
enum {
	SVG_WIDTH = 1200,
	SVG_MARGIN = 10, /* left and right of the chart */
	SVG_CHART = SVG_WIDTH - 2 * SVG_MARGIN,
	SVG_ROW = 18,
	SVG_BOX = 17,
	SVG_CAP = 6,
	SVG_PAD = 4,	/* left of a label */
	SVG_MIDDLE = 5, /* between the halves of a butterfly */
	SVG_SLIM = 4,	/* narrower boxes have no outline, which would cover them */
	/* Hundredths of a pixel: a column in the widest font of flame.css at 12 px. */
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
	unsigned base;	/* y of the root's lower edge, or of its upper edge if it grows down */
	bool half;	/* of a butterfly: its root is labelled with the column and its total */
	bool down;	/* grows down from base */
};

/* Appends one <g class="frames">. `below` is the lower half of a butterfly, or NULL. */
void svg_frames_add(struct svg_picture *picture, struct svg_picture *below);

#endif
