/* Strings of formats that promise UTF-8: whether the promise is kept, and what to do if not. */
#ifndef SPROF_UTF8_H
#define SPROF_UTF8_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Is it valid UTF-8 without a NUL? */
bool utf8_is_valid(const char *s, size_t n);

/* Appends the string with U+FFFD in place of each NUL and of each byte that is not UTF-8. */
void utf8_add_repaired(struct buffer *b, const char *s, size_t n);

#endif
