/* Decodes %XX. That never fails: what is damaged stays as it is. */
#include "output/push/percent.h"

#include <ctype.h>

#include "core/base/buffer.h"

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

void percent_decode(struct buffer *b, const char *s, size_t size, size_t max)
{
	for (size_t i = 0; i < size && b->size < max; i++) {
		if (s[i] == '%' && i + 2 < size && isxdigit((unsigned char)s[i + 1]) &&
		    isxdigit((unsigned char)s[i + 2])) {
			buffer_add_char(b, (char)(hex_digit(s[i + 1]) << 4 | hex_digit(s[i + 2])));
			i += 2;
		} else {
			buffer_add_char(b, s[i]);
		}
	}
}
