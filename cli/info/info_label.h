/* The lines of `sprof info` that are in no table: a label, and what there is to say of it. */
#ifndef SPROF_INFO_LABEL_H
#define SPROF_INFO_LABEL_H

struct buffer;

enum { INFO_LABEL_WIDTH = 12 }; /* columns: the longest label of sprof's own, and two blanks */

/* Begins a line; returns the buffer, to which the caller adds the rest. */
struct buffer *info_label(struct buffer *b, const char *label);
/* Adds a whole line, with the value as clean text; nothing if the value is "". */
void info_line(struct buffer *b, const char *label, const char *value);

#endif
