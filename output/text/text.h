/*
 * Clean text (core/base/clean_text.h) for tables and formats: in one line, escaped for XML and
 * JSON, and measured in columns.
 */
#ifndef SPROF_TEXT_H
#define SPROF_TEXT_H

#include <stddef.h>

#include "core/base/clean_text.h"

struct buffer;

/*
 * Appends clean text in one line: a run of blanks and line ends becomes one space, and none is left
 * at either end.
 */
void text_add_line(struct buffer *b, const char *s);
/* Appends clean text with < > & " ' as numeric references, for XML text and attributes. */
void text_add_xml(struct buffer *b, const char *s, size_t n);
/* Appends clean text in double quotes, as a JSON string. */
void text_add_json(struct buffer *b, const char *s);
/* The same after `before`: the text up to the value of a field, such as ", \"file\": ". */
void text_add_json_field(struct buffer *b, const char *before, const char *s);

/* The columns that clean text takes in a terminal or a monospace font. */
size_t text_columns(const char *s, size_t n);
/* The most bytes of clean text, from the start or from the end, that fit in `columns`. */
size_t text_head(const char *s, size_t n, size_t columns);
size_t text_tail(const char *s, size_t n, size_t columns);

#endif
