/* What the standard output can show, for the commands that print for people. */
#ifndef SPROF_TERMINAL_H
#define SPROF_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

struct terminal {
	size_t columns; /* COLUMNS, or the terminal's width; 0: no limit */
	bool unicode;	/* block characters and the like */
	bool color;	/* escapes; NO_COLOR and TERM=dumb turn them off */
};

/* `output` is the argument of -o: a file other than "-" is not a terminal. Sets LC_CTYPE. */
struct terminal terminal_of(const char *output);

/*
 * Breaks lines that are wider than the terminal, after a blank or a comma. Continuation lines are
 * indented to the column behind the line's first two blanks in a row, or else by two. Lines with
 * escapes, and those with three leading blanks (rows of tables, commands to be copied), stay as
 * they are.
 */
void terminal_fold(const struct terminal *t, struct buffer *text);

#endif
