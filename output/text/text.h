/*
 * Names come from untrusted places: symbol tables, thread names, file names, imported text. Here
 * they become text that can be shown: valid UTF-8 in which nothing is invisible or changes the
 * direction of writing. A code point that cannot be shown becomes a visible \u{..}, and bytes that
 * are not UTF-8 become U+FFFD. Escaping for a format is done on top of that.
 */
#ifndef SPROF_TEXT_H
#define SPROF_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct buffer;

/*
 * Decodes the code point at s, of which n >= 1 bytes can be read, and returns its length in bytes.
 * Bytes that are not UTF-8 (stray, overlong, surrogate, too large) give UINT32_MAX and length 1.
 */
uint32_t text_decode(const char *s, size_t n, size_t *ret_length);

void text_add_clean(struct buffer *b, const char *s, size_t n);
/*
 * Appends clean text in one line: a run of blanks and line ends becomes one space, and none is left
 * at either end.
 */
void text_add_line(struct buffer *b, const char *s);
/* Appends clean text with < > & " ' as numeric references, for XML text and attributes. */
void text_add_xml(struct buffer *b, const char *s, size_t n);
/* Appends clean text in double quotes, as a JSON string. */
void text_add_json(struct buffer *b, const char *s);

/* The columns that clean text takes in a terminal or a monospace font. */
size_t text_columns(const char *s, size_t n);
/* The most bytes of clean text, from the start or from the end, that fit in `columns`. */
size_t text_head(const char *s, size_t n, size_t columns);
size_t text_tail(const char *s, size_t n, size_t columns);

#endif
