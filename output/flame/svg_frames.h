/* The frames of the static flame graph as SVG elements: boxes, caps and tooltips. */
#ifndef SPROF_SVG_FRAMES_H
#define SPROF_SVG_FRAMES_H

struct svg_picture;

/* Appends one <g class="frames">. `below` is the lower half of a butterfly, or NULL. */
void svg_frames_add(struct svg_picture *picture, struct svg_picture *below);

#endif
