/* Pads, cuts and folds text to columns of a terminal: widths are of characters, not of bytes. */
#include "output/text/align.h"

#include <string.h>

#include "core/base/buffer.h"
#include "output/text/text.h"

void align_add_spaces(struct buffer *b, size_t nr)
{
	if (!nr)
		return; /* a buffer that is empty has no memory yet */
	memset(buffer_reserve(b, nr), ' ', nr);
	b->size += nr;
}

size_t align_add_cut(struct buffer *b, const char *s, size_t n, size_t width, bool unicode)
{
	size_t columns = text_columns(s, n), head, tail;

	if (columns <= width) {
		buffer_add(b, s, n);
		return columns;
	}
	head = text_head(s, n, width / 2);
	tail = text_tail(s, n, (width - 1) / 2);
	buffer_add(b, s, head);
	buffer_add_string(b, unicode ? "\xe2\x80\xa6" : "~");
	buffer_add(b, s + n - tail, tail);
	return text_columns(s, head) + 1 + text_columns(s + n - tail, tail);
}

/* How much of a text fits: up to the last blank or comma that fits, or else up to the first one. */
static size_t piece_of(const char *s, size_t n, size_t columns)
{
	size_t fits = text_head(s, n, columns), end = fits;

	if (text_columns(s, n) <= columns)
		return n;
	while (end && s[end - 1] != ' ' && s[end - 1] != ',')
		end--;
	if (strspn(s, " ") >= end)
		for (end = fits; end < n && (!end || (s[end - 1] != ' ' && s[end - 1] != ','));)
			end++;
	return end;
}

void align_add_folded(struct buffer *b, const char *s, size_t n, size_t start, size_t indent,
		      size_t width)
{
	size_t piece = piece_of(s, n, width > start ? width - start : 0);

	while (piece < n) {
		size_t kept = piece;

		while (kept && s[kept - 1] == ' ')
			kept--;
		buffer_add(b, s, kept);
		buffer_add_char(b, '\n');
		align_add_spaces(b, indent);
		s += piece;
		n -= piece;
		piece = piece_of(s, n, width > indent ? width - indent : 0);
	}
	buffer_add(b, s, n);
}
