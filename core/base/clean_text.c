/*
 * One UTF-8 decoder, and one list of the code points that must not be shown as they are.
 */
#include "core/base/clean_text.h"

#include <string.h>

#include "core/base/buffer.h"

struct range {
	uint32_t first, last;
};

/*
 * Code points that are replaced: controls (XML 1.0 forbids most of them), those without width,
 * those that change the direction of writing (Trojan Source, CVE-2021-42574), line separators,
 * noncharacters.
 */
static const struct range hidden[] = {
	{ 0x0000, 0x001f },   { 0x007f, 0x009f }, { 0x00ad, 0x00ad },	{ 0x034f, 0x034f },
	{ 0x061c, 0x061c },   { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },	{ 0x180b, 0x180e },
	{ 0x200b, 0x200f },   { 0x2028, 0x202e }, { 0x2060, 0x206f },	{ 0x3164, 0x3164 },
	{ 0xfdd0, 0xfdef },   { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },   { 0xfffe, 0xffff }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

static bool in_hidden(uint32_t c)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

/* Must this code point be replaced? */
static bool is_hidden(uint32_t c)
{
	if (c < 0x7f)
		return c < 0x20;
	return (c & 0xfffe) == 0xfffe || in_hidden(c);
}

uint32_t text_decode(const char *s, size_t n, size_t *ret_length)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t c;

	*ret_length = 1;
	if (length == 1)
		return p[0];
	if (!length || length > n || p[0] >= 0xf8)
		return UINT32_MAX;
	c = p[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return UINT32_MAX;
	*ret_length = length;
	return c;
}

/*
 * Returns the length of the run at s of plain ASCII: no controls, and nothing that a format
 * escapes.
 */
static size_t plain_run(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] >= 0x20 && s[i] != 0x7f && !memchr("<>&\"'\\", s[i], 6))
		i++;
	return i;
}

void text_add_escaped(struct buffer *b, const char *s, size_t n, const char *backslash,
		      const char *(*escape)(char))
{
	size_t length;

	for (size_t i = 0; i < n; i += length) {
		uint32_t c;

		length = plain_run(s + i, n - i);
		if (length) {
			buffer_add(b, s + i, length);
			continue;
		}
		c = text_decode(s + i, n - i, &length);
		if (c == UINT32_MAX)
			buffer_add_string(b, TEXT_REPLACEMENT);
		else if (is_hidden(c))
			buffer_printf(b, "%su{%x}", backslash, c);
		else if (c < 0x80 && escape && escape((char)c))
			buffer_add_string(b, escape((char)c));
		else
			buffer_add(b, s + i, length);
	}
}

void text_add_clean(struct buffer *b, const char *s, size_t n)
{
	text_add_escaped(b, s, n, "\\", NULL);
}
