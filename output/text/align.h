/* Cells of the tables that are printed: text that is aligned, or cut, to a number of columns. */
#ifndef SPROF_ALIGN_H
#define SPROF_ALIGN_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

void align_add_spaces(struct buffer *b, size_t nr);
/* Puts spaces before what was added from `start` on, so that it takes `width` columns at least. */
void align_right(struct buffer *b, size_t start, size_t width);
/* Cut in the middle, where it is too wide: both ends of a name tell most. Returns the columns used. */
size_t align_add_cut(struct buffer *b, const char *s, size_t n, size_t width, bool unicode);

#endif
