/*
 * The terminal while sprof top has it: entering and leaving the screen, whatever way sprof ends,
 * and lines of text with styles. One thread draws; any thread, and a crash, can give it back.
 */
#ifndef SPROF_SCREEN_H
#define SPROF_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a terminal that a screen can be shown on? If not, why[] has the reason. */
bool screen_is_possible(char *why, size_t why_size);

/* Takes the terminal; it is given back at exit, also by a crash. 0 or -errno, reported. */
int screen_begin(void);
/* Gives the terminal back. Nothing happens where it was given back already. */
void screen_end(void);
/* Stops sprof as ^Z does, with the terminal as it was before, and goes on when told to. */
void screen_suspend(void);
/* Takes over a new size of the terminal, if it has one. */
void screen_resize(void);

/* Draws everything anew the next time, whatever another program has written over it. */
void screen_redraw(void);

bool screen_is_unicode(void);
int screen_rows(void);
int screen_columns(void);

enum screen_style {
	STYLE_PLAIN,
	STYLE_TITLE,	/* a line of its own that is to be seen first */
	STYLE_SELECTED, /* the row that keys act on */
	STYLE_WARNING,
	STYLE_DIM,
	STYLE_CURVE, /* as bars in tables */
};

/* Clears what will be drawn. */
void screen_clear(void);
/*
 * Draws the text of one line, cut at the right edge or after `width` columns; returns the columns
 * it takes. The text is clean (core/base/clean_text.h), but for the escapes of tables (grid.h). A
 * selected line is filled to its end.
 */
int screen_text(int row, int column, int width, enum screen_style style, const char *text,
		size_t size);
/* Shows what was drawn; the cursor is at row, column, or hidden if row is negative. */
void screen_show(int row, int column);

/* Special keys; others are bytes of UTF-8. */
enum screen_key {
	KEY_OF_NOTHING = 0,
	KEY_OF_UP = 0x100,
	KEY_OF_DOWN,
	KEY_OF_LEFT,
	KEY_OF_RIGHT,
	KEY_OF_PAGE_UP,
	KEY_OF_PAGE_DOWN,
	KEY_OF_HOME,
	KEY_OF_END,
	KEY_OF_BACK_TAB,
	KEY_OF_BACKSPACE,
	KEY_OF_RESIZE,
	KEY_OF_CLOSED, /* the terminal is gone */
};

/* Returns the next key that was typed, KEY_OF_NOTHING if there is none. */
int screen_key(void);

#endif
