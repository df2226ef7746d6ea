/*
 * Alignment in text tables: cells that are padded, or cut, to a number of terminal columns. Text
 * must be clean (text.h).
 */
#ifndef SPROF_ALIGN_H
#define SPROF_ALIGN_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

void align_add_spaces(struct buffer *b, size_t nr);
/*
 * Appends text; if it is too wide, only its beginning and its end, which tell names apart best.
 * Returns the columns used.
 */
size_t align_add_cut(struct buffer *b, const char *s, size_t n, size_t width, bool unicode);

#endif
