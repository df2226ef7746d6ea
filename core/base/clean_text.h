/*
 * Names come from untrusted places: symbol tables, thread names, file names, imported text. Here
 * they become text that can be shown: valid UTF-8 in which nothing is invisible, changes the
 * direction of writing or tells a terminal to do something. A code point that cannot be shown
 * becomes a visible \u{..}, and bytes that are not UTF-8 become U+FFFD. Escaping for a format is
 * done on top of that.
 */
#ifndef SPROF_CLEAN_TEXT_H
#define SPROF_CLEAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

#define TEXT_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Decodes the code point at s, of which n >= 1 bytes can be read, and returns its length in bytes.
 * Bytes that are not UTF-8 (stray, overlong, surrogate, too large) give UINT32_MAX and length 1.
 */
uint32_t text_decode(const char *s, size_t n, size_t *ret_length);

void text_add_clean(struct buffer *b, const char *s, size_t n);

/*
 * The same for a format. `backslash` is what it writes a backslash as; `escape` returns what it
 * writes an ASCII character as, or NULL for itself. `escape` may be NULL.
 */
void text_add_escaped(struct buffer *b, const char *s, size_t n, const char *backslash,
		      const char *(*escape)(char));

#endif
