/* What the standard output can show, for the commands that print for people. */
#ifndef SPROF_TERMINAL_H
#define SPROF_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

struct terminal {
	size_t columns; /* 0: it is no terminal, nothing is to be cut */
	bool unicode;	/* block characters and the like */
	bool color;	/* escapes; NO_COLOR and TERM=dumb turn them off */
};

/* `output` is the command's -o: a file that is not "-" is no terminal. Sets LC_CTYPE. */
struct terminal terminal_of(const char *output);

/*
 * Breaks the lines of a text that are wider than the terminal, after a blank or a comma; what follows
 * stands where the text of its line began: after its first two blanks in a row, else two further in.
 * Lines with escapes, rows of tables, which begin three blanks in or more, commands to be copied among them,
 * stay as they are.
 */
void terminal_fold(const struct terminal *t, struct buffer *text);

#endif
