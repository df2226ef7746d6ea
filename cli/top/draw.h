/* Draws a picture on the screen. */
#ifndef SPROF_DRAW_H
#define SPROF_DRAW_H

#include <stdint.h>

struct picture;

void draw(struct picture *picture);

/* How many rows of a table the screen has room for. */
uint32_t draw_page_rows(void);

#endif
