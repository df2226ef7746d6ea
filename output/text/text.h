/*
 * Names come from hostile places: symbol tables, thread names, file names, imported text. Here they
 * become text that can be shown: valid UTF-8 in which nothing is invisible or changes the direction
 * of writing. What cannot be shown as itself becomes a visible \u{..}; bytes that are no UTF-8
 * become U+FFFD. Escaping for a format comes on top of that.
 */
#ifndef SPROF_TEXT_H
#define SPROF_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct buffer;

/*
 * Decodes the code point at s (n >= 1 bytes are there) and says how many bytes it takes. Bytes
 * that are no UTF-8 (stray, overlong, surrogate, too large) give UINT32_MAX and length 1.
 */
uint32_t text_decode(const char *s, size_t n, size_t *ret_length);

void text_add_clean(struct buffer *b, const char *s, size_t n);
/* Clean, in one line: what is blank, line ends too, is one space each time, and none at the ends. */
void text_add_line(struct buffer *b, const char *s);
/* Clean, and < > & " ' as numeric references: good in XML text and attributes. */
void text_add_xml(struct buffer *b, const char *s, size_t n);
/* Clean, in double quotes, as a JSON string. */
void text_add_json(struct buffer *b, const char *s);

/* Columns of a terminal or a monospace font that clean text takes. */
size_t text_columns(const char *s, size_t n);
/* The most bytes of clean text, from the start or from the end, that fit in `columns`. */
size_t text_head(const char *s, size_t n, size_t columns);
size_t text_tail(const char *s, size_t n, size_t columns);

#endif
