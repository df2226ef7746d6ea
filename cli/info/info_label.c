/* A label from a file may be longer than INFO_LABEL_WIDTH, and moves the rest of its line. */
#include "cli/info/info_label.h"

#include "core/base/buffer.h"
#include "output/text/text.h"

struct buffer *info_label(struct buffer *b, const char *label)
{
	buffer_printf(b, "%-*s", INFO_LABEL_WIDTH, label);
	return b;
}

void info_line(struct buffer *b, const char *label, const char *value)
{
	if (*value) {
		text_add_line(info_label(b, label), value);
		buffer_add_char(b, '\n');
	}
}
