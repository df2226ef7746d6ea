/*
 * Writes fields of CSV and of tab-separated lines. Each field ends with the separator; the end of
 * the line replaces the last one.
 */
#include "output/text/cells.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buffer.h"
#include "output/text/text.h"

static void add_quoted(struct buffer *b, const char *s, size_t n)
{
	buffer_add_char(b, '"');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			buffer_add_char(b, '"');
		buffer_add_char(b, s[i]);
	}
	buffer_add_char(b, '"');
}

/* Would a reader of tables take the text for anything but text? */
static bool is_special(const char *text, char separator)
{
	return *text && (strchr("=+-@", *text) || (*text == '"' && separator != ','));
}

void cells_add_text(struct buffer *b, char separator, const char *text)
{
	struct buffer clean = { 0 };

	if (is_special(text, separator))
		buffer_add_char(&clean, '\'');
	text_add_clean(&clean, text, strlen(text));
	if (separator == ',')
		add_quoted(b, clean.data, clean.size);
	else
		buffer_add(b, clean.data, clean.size);
	buffer_add_char(b, separator);
	buffer_fini(&clean);
}

void cells_add_number(struct buffer *b, char separator, uint64_t number)
{
	buffer_add_u64(b, number);
	buffer_add_char(b, separator);
}

void cells_end(struct buffer *b)
{
	b->data[b->size - 1] = '\n';
}
