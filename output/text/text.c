/*
 * Escapes clean text byte by byte, because every character that XML or JSON escapes is ASCII, and
 * measures it in columns by ranges of characters.
 */
#include "output/text/text.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buffer.h"

struct range {
	uint32_t first, last;
};

/*
 * Ranges that are two columns wide: emoji and CJK, roughly. The picture's script (flame_text.js)
 * has the same list.
 */
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x2e80, 0xa4cf }, { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
	{ 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
};

static bool in_ranges(uint32_t c, const struct range *r, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}

static const char *escape_xml(char c)
{
	switch (c) {
	case '<': return "&#60;";
	case '>': return "&#62;";
	case '&': return "&#38;";
	case '"': return "&#34;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

static const char *escape_json(char c)
{
	switch (c) {
	case '"': return "\\\"";
	case '\\': return "\\\\";
	default: return NULL;
	}
}

void text_add_line(struct buffer *b, const char *s)
{
	static const char blanks[] = " \t\n\v\f\r";

	for (s += strspn(s, blanks); *s; s += strspn(s, blanks)) {
		size_t n = strcspn(s, blanks);

		text_add_clean(b, s, n);
		s += n;
		if (s[strspn(s, blanks)])
			buffer_add_char(b, ' ');
	}
}

void text_add_xml(struct buffer *b, const char *s, size_t n)
{
	text_add_escaped(b, s, n, "\\", escape_xml);
}

void text_add_json(struct buffer *b, const char *s)
{
	buffer_add_char(b, '"');
	text_add_escaped(b, s, strlen(s), "\\\\", escape_json);
	buffer_add_char(b, '"');
}

void text_add_json_field(struct buffer *b, const char *before, const char *s)
{
	buffer_add_string(b, before);
	text_add_json(b, s);
}

static size_t columns_of(uint32_t c)
{
	if (c >= 0x300 && c <= 0x36f) /* combining marks */
		return 0;
	return 1 + in_ranges(c, wide, sizeof(wide) / sizeof(*wide));
}

size_t text_columns(const char *s, size_t n)
{
	size_t columns = 0, length;

	for (size_t i = 0; i < n; i += length)
		columns += (unsigned char)s[i] < 0x80
				   ? (length = 1)
				   : columns_of(text_decode(s + i, n - i, &length));
	return columns;
}

size_t text_head(const char *s, size_t n, size_t columns)
{
	size_t used = 0, length, i;

	for (i = 0; i < n; i += length) {
		used += columns_of(text_decode(s + i, n - i, &length));
		if (used > columns)
			break;
	}
	return i;
}

size_t text_tail(const char *s, size_t n, size_t columns)
{
	size_t used = 0, start = n;

	while (start) {
		size_t i = start - 1, length;

		while (i && ((unsigned char)s[i] & 0xc0) == 0x80)
			i--;
		used += columns_of(text_decode(s + i, n - i, &length));
		if (used > columns)
			break;
		start = i;
	}
	return n - start;
}
