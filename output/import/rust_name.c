/*
 * Undoes the escapes of a legacy name. A name ends with "::h" and 16 hexadecimal digits, a hash
 * that tells crates and versions apart. Characters that a symbol may not hold are escaped between
 * dollar signs, and ".." stands for "::". (rustc-demangle, src/legacy.rs)
 */
#include "output/import/rust_name.h"

#include <ctype.h>
#include <string.h>

#include "core/base/buffer.h"

enum { HASH_SIZE = 19 }; /* "::h" and its digits */

static bool has_hash(const char *s, size_t n)
{
	if (n <= HASH_SIZE || memcmp(s + n - HASH_SIZE, "::h", 3))
		return false;
	for (size_t i = n - HASH_SIZE + 3; i < n; i++)
		if (!isxdigit((unsigned char)s[i]) || isupper((unsigned char)s[i]))
			return false;
	return true;
}

/* The length of the escape at s, 0 if there is none; only printable ASCII is unescaped. */
static size_t unescape(const char *s, size_t n, char *ret_character)
{
	static const struct {
		const char *text;
		char character;
	} escapes[] = {
		{ "$LT$", '<' }, { "$GT$", '>' }, { "$RF$", '&' }, { "$BP$", '*' },
		{ "$LP$", '(' }, { "$RP$", ')' }, { "$SP$", '@' }, { "$C$", ',' },
	};
	unsigned int code = 0;
	size_t i = 2;

	for (size_t e = 0; e < sizeof(escapes) / sizeof(*escapes); e++) {
		size_t size = strlen(escapes[e].text);

		if (n >= size && !memcmp(s, escapes[e].text, size)) {
			*ret_character = escapes[e].character;
			return size;
		}
	}
	if (n < 5 || s[0] != '$' || s[1] != 'u')
		return 0;
	for (; i < n && i < 4 && isxdigit((unsigned char)s[i]); i++)
		code = code * 16 + (unsigned int)(isdigit((unsigned char)s[i])
							  ? s[i] - '0'
							  : (s[i] | 32) - 'a' + 10);
	if (i != 4 || i >= n || s[i] != '$' || code < ' ' || code > '~')
		return 0;
	*ret_character = (char)code;
	return 5;
}

bool rust_name_add(struct buffer *b, const char *s, size_t n)
{
	if (!has_hash(s, n))
		return false;
	n -= HASH_SIZE;
	if (n > 2 && s[0] == '_' && s[1] == '$')
		s++, n--;
	for (size_t i = 0; i < n;) {
		char character = s[i];
		size_t size = unescape(s + i, n - i, &character);

		if (!size && n - i >= 2 && s[i] == '.' && s[i + 1] == '.') {
			buffer_add_string(b, "::");
			i += 2;
			continue;
		}
		buffer_add_char(b, character);
		i += size ? size : 1;
	}
	return true;
}
