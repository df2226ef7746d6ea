/* What the standard output can show, for the commands that print for people. */
#ifndef SPROF_TERMINAL_H
#define SPROF_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

struct terminal {
	size_t columns; /* of the terminal, or what COLUMNS asks for; 0: nothing is cut */
	bool unicode;	/* block characters and the like */
	bool color;	/* escapes; NO_COLOR and TERM=dumb turn them off */
};

/* `output` is the command's -o: a file other than "-" is not a terminal. Sets LC_CTYPE. */
struct terminal terminal_of(const char *output);

/*
 * Breaks the lines of a text that are wider than the terminal after a blank or a comma.
 * Continuation lines are indented to where the text of their line began: behind its first two
 * blanks in a row, else by two. Lines with escapes and rows of tables (three leading blanks or
 * more; commands to be copied are written so too) stay as they are.
 */
void terminal_fold(const struct terminal *t, struct buffer *text);

#endif
