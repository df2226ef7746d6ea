/* The text on the boxes of the static flame graph, as much of it as fits; `y` is the box's top. */
#ifndef SPROF_SVG_LABELS_H
#define SPROF_SVG_LABELS_H

struct layout_box;
struct svg_picture;

void svg_add_frame_label(struct svg_picture *w, const struct layout_box *box, unsigned y);
/* "33635 frames merged" */
void svg_add_run_label(struct svg_picture *w, const struct layout_box *box, unsigned y);
/* "+17 frames, _start ... run_mod 39%" */
void svg_add_fold_label(struct svg_picture *w, const struct layout_box *box, unsigned y);

#endif
