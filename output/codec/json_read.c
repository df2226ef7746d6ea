/*
 * A JSON reader whose only state is the position, the depth and whether a comma has to come next.
 * The input is untrusted: the depth has a limit, and each read checks the end.
 */
#include "output/codec/json_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"

void json_init(struct json *j, const char *data, size_t size)
{
	*j = (struct json){ .at = data, .end = data + size, .first = true };
}

bool json_failed(const struct json *j)
{
	return j->failed;
}

static bool fail(struct json *j)
{
	j->failed = true;
	return false;
}

static void skip_blanks(struct json *j)
{
	while (j->at < j->end && memchr(" \t\r\n", *j->at, 4))
		j->at++;
}

/* Consumes the next character if it is c. */
static bool accept(struct json *j, char c)
{
	skip_blanks(j);
	if (j->failed || j->at == j->end || *j->at != c)
		return false;
	j->at++;
	return true;
}

char json_peek(struct json *j)
{
	skip_blanks(j);
	if (j->failed || j->at == j->end)
		return 0;
	if (*j->at == '-' || (*j->at >= '0' && *j->at <= '9'))
		return '0';
	return memchr("{[\"tfn", *j->at, 6) ? *j->at : 0;
}

bool json_enter(struct json *j, char bracket)
{
	if (j->depth == JSON_MAX_DEPTH || !accept(j, bracket))
		return fail(j);
	j->depth++;
	j->first = true;
	return true;
}

/* Before an element or key: consumes the end, or the comma that all but the first need. */
static bool another(struct json *j, char end)
{
	bool first = j->first;

	j->first = false;
	if (accept(j, end)) {
		j->depth--;
		return false;
	}
	if (j->failed || (!first && !accept(j, ',')))
		return fail(j);
	return true;
}

bool json_element(struct json *j)
{
	return another(j, ']');
}

bool json_key(struct json *j, struct buffer *ret_key)
{
	if (!another(j, '}') || !json_string(j, ret_key))
		return false;
	return accept(j, ':') ? true : fail(j);
}

static void add_utf8(struct buffer *b, uint32_t c)
{
	if (c < 0x80) {
		buffer_add_char(b, (char)c);
		return;
	}
	if (c < 0x800) {
		buffer_add_char(b, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			buffer_add_char(b, (char)(0xe0 | c >> 12));
		} else {
			buffer_add_char(b, (char)(0xf0 | c >> 18));
			buffer_add_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		buffer_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	buffer_add_char(b, (char)(0x80 | (c & 0x3f)));
}

static bool read_hex4(struct json *j, uint32_t *ret_unit)
{
	uint32_t unit = 0;

	if (j->end - j->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		char c = *j->at++;
		const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

		if (!digit)
			return false;
		unit = unit * 16 + (uint32_t)(digit - digits);
	}
	*ret_unit = unit;
	return true;
}

/* Reads \uXXXX, and the other half of a surrogate pair. A lone half or a NUL becomes U+FFFD. */
static bool read_unicode(struct json *j, struct buffer *b)
{
	uint32_t c, low;

	if (!read_hex4(j, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00 && j->end - j->at >= 6 && j->at[0] == '\\' &&
	    j->at[1] == 'u') {
		const char *second = j->at;

		j->at += 2;
		if (!read_hex4(j, &low))
			return false;
		if (low >= 0xdc00 && low < 0xe000)
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		else
			j->at = second;
	}
	add_utf8(b, !c || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
	return true;
}

static bool read_escape(struct json *j, struct buffer *b)
{
	static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *escape;

	if (j->at == j->end)
		return false;
	if (*j->at == 'u') {
		j->at++;
		return read_unicode(j, b);
	}
	escape = *j->at ? strchr(escapes, *j->at) : NULL;
	if (!escape)
		return false;
	j->at++;
	buffer_add_char(b, meanings[escape - escapes]);
	return true;
}

bool json_string(struct json *j, struct buffer *ret_string)
{
	ret_string->size = 0;
	if (!accept(j, '"'))
		return fail(j);
	while (j->at < j->end) {
		const char *start = j->at;

		while (j->at < j->end && *j->at != '"' && *j->at != '\\')
			j->at++;
		buffer_add(ret_string, start, (size_t)(j->at - start));
		if (j->at == j->end)
			break;
		if (*j->at++ == '"')
			return true;
		if (!read_escape(j, ret_string))
			break;
	}
	return fail(j);
}

bool json_number(struct json *j, double *ret_number)
{
	char digits[64], *stop;
	size_t n = 0;

	if (json_peek(j) != '0')
		return fail(j);
	while (j->at + n < j->end && n < sizeof(digits) - 1 &&
	       strchr("+-.eE0123456789", j->at[n]) && j->at[n])
		n++;
	memcpy(digits, j->at, n);
	digits[n] = '\0';
	*ret_number = strtod(digits, &stop);
	if (*stop)
		return fail(j);
	j->at += n;
	return true;
}

static bool read_word(struct json *j, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(j);
	if (j->failed || (size_t)(j->end - j->at) < n || memcmp(j->at, word, n))
		return fail(j);
	j->at += n;
	return true;
}

bool json_bool(struct json *j, bool *ret_bool)
{
	*ret_bool = json_peek(j) == 't';
	return read_word(j, *ret_bool ? "true" : "false");
}

void json_skip(struct json *j)
{
	struct buffer text = { 0 };
	double number;

	switch (json_peek(j)) {
	case '{':
		json_enter(j, '{');
		while (json_key(j, &text))
			json_skip(j);
		break;
	case '[':
		json_enter(j, '[');
		while (json_element(j))
			json_skip(j);
		break;
	case '"': json_string(j, &text); break;
	case '0': json_number(j, &number); break;
	case 't': read_word(j, "true"); break;
	case 'f': read_word(j, "false"); break;
	case 'n': read_word(j, "null"); break;
	default: fail(j);
	}
	buffer_fini(&text);
}
