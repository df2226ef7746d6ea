/*
 * Fields of a table for programs: lines whose fields are separated by commas (CSV, RFC 4180) or by
 * tabs.
 */
#ifndef SPROF_CELLS_H
#define SPROF_CELLS_H

#include <stdint.h>

struct buffer;

/*
 * Appends text, cleaned (text.h) so that it holds no line end and no tab; in double quotes if
 * commas separate. Spreadsheets run a text that begins with = + - or @ as a formula, so it gets a '
 * in front. So does a text that begins with " between tabs: most readers would take it for a quoted
 * one, which may hold a formula, and does not end at the next tab or line end.
 */
void cells_add_text(struct buffer *b, char separator, const char *text);
void cells_add_number(struct buffer *b, char separator, uint64_t number);
/* Ends the line: the separator after its last field becomes the line end. */
void cells_end(struct buffer *b);

#endif
