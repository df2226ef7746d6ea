/* Draws a picture on the screen. */
#ifndef SPROF_DRAW_H
#define SPROF_DRAW_H

#include <stdint.h>

struct picture;

void draw(struct picture *picture);
/* When to draw it again though nothing has changed, as a message is old then; -1: never. */
int draw_next_ms(const struct picture *picture);

/* The number of table rows for which the screen has room. */
uint32_t draw_page_rows(void);

#endif
