/*
 * A static flame graph while it is written: its parts, its geometry, and lengths. Lengths are in
 * pixels, or in hundredths of a pixel.
 */
#ifndef SPROF_SVG_PICTURE_H
#define SPROF_SVG_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "output/flame/layout.h"

struct buffer;
struct diff_row;
struct diff_view;
struct summary;
struct tree;
struct tree_sum;

/* The geometry, which flame_draw.js repeats. */
enum {
	SVG_WIDTH = 1200,
	SVG_MARGIN = 10, /* left and right of the chart */
	SVG_CHART = SVG_WIDTH - 2 * SVG_MARGIN,
	/*
	 * An outline leaves out what is below nodes that have less than one of so many parts of
	 * the whole: half a pixel, as a fold goes on in narrower frames.
	 */
	SVG_OUTLINE_PARTS = 2 * SVG_CHART,
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

/* Writes hundredths of a pixel as "12.5". */
void svg_add_hundredths(struct buffer *b, uint64_t value);

/* Where `x` of the layout is, in hundredths of a pixel from the left of the chart. */
uint64_t svg_position(const struct svg_picture *w, uint64_t x);

/* How many frames a run, or a fold, stands for. */
uint32_t svg_run_frames(const struct svg_picture *w, const struct layout_box *box);
uint32_t svg_fold_frames(const struct svg_picture *w, const struct layout_box *box);

#endif
