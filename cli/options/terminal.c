/*
 * Asks the environment and the terminal for the width, the environment for colour and Unicode, and
 * folds long lines so that a terminal does not break them in the middle of a word.
 */
#include "cli/options/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/options/whole_number.h"
#include "core/base/buffer.h"
#include "output/text/align.h"
#include "output/text/text.h"

enum { COLUMNS_MAX = UINT16_MAX }; /* the most that a terminal can have */

/*
 * The width in COLUMNS, which has precedence over the terminal's, as in ls(1) and ps(1). Shells set
 * it, but export it only if told to. 0: it is not set, or not a width.
 */
static size_t columns_asked(void)
{
	const char *text = getenv("COLUMNS");
	uint64_t columns;

	return text && whole_number_parse(text, COLUMNS_MAX, &columns) ? columns : 0;
}

static size_t columns_of(bool terminal)
{
	size_t asked = columns_asked();
	struct winsize size;

	if (asked || !terminal)
		return asked;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return 80;
}

struct terminal terminal_of(const char *output)
{
	bool printed = !output || !strcmp(output, "-"), terminal = printed && isatty(STDOUT_FILENO);
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	setlocale(LC_CTYPE, "");
	return (struct terminal){
		.columns = printed ? columns_of(terminal) : 0,
		.unicode = terminal && !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.color = terminal && (!no_color || !*no_color) && term && strcmp(term, "dumb"),
	};
}

/* The column where the text of a line begins, to which its continuation lines are indented. */
static size_t indent_of(const char *line, size_t size, size_t columns)
{
	size_t blank = 0, two = 0;

	while (blank < size && line[blank] == ' ')
		blank++;
	for (size_t i = blank; i + 1 < size && !two; i++)
		if (line[i] == ' ' && line[i + 1] == ' ')
			two = i;
	while (two && two < size && line[two] == ' ')
		two++;
	two = text_columns(line, two);
	return two && two <= columns / 2 ? two : blank + 2;
}

/* Rows of tables are indented by three blanks or more, text by less. */
static bool is_kept(const char *line, size_t size)
{
	return memchr(line, '\033', size) || (size > 2 && !memcmp(line, "   ", 3));
}

void terminal_fold(const struct terminal *t, struct buffer *text)
{
	struct buffer folded = { 0 };

	if (!t->columns)
		return;
	for (size_t at = 0, size; at < text->size; at += size + 1) {
		const char *line = text->data + at;
		const char *end = memchr(line, '\n', text->size - at);

		size = end ? (size_t)(end - line) : text->size - at;
		if (text_columns(line, size) <= t->columns || is_kept(line, size))
			buffer_add(&folded, line, size);
		else
			align_add_folded(&folded, line, size, 0, indent_of(line, size, t->columns),
					 t->columns);
		if (end)
			buffer_add_char(&folded, '\n');
	}
	buffer_fini(text);
	*text = folded;
}
