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

/*
 * Appends text that stands `start` columns from the left edge, and breaks it after a blank or a
 * comma where it would be wider than `width` columns: the lines that follow are indented by
 * `indent`. A word that is wider than that stays whole.
 */
void align_add_folded(struct buffer *b, const char *s, size_t n, size_t start, size_t indent,
		      size_t width);

#endif
