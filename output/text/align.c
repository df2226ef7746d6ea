/* Pads and cuts text to columns of a terminal: widths are of characters, not of bytes. */
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
