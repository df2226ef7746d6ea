/*
 * Cells of a table for machines: fields of a line, separated by commas (CSV, RFC 4180) or tabs.
 */
#ifndef SPROF_CELLS_H
#define SPROF_CELLS_H

#include <stdint.h>

struct buffer;

/*
 * Text, cleaned (text.h), so that no line end and no tab is in it; in double quotes where commas
 * separate. Spreadsheets run what begins with one of = + - @ as a formula: it gets a ' in front.
 */
void cells_add_text(struct buffer *b, char separator, const char *text);
void cells_add_number(struct buffer *b, char separator, uint64_t number);
/* Ends the line: the separator behind its last cell becomes its end. */
void cells_end(struct buffer *b);

#endif
