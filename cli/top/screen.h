/*
 * The terminal as sprof top uses it: taking it, giving it back however sprof ends, and drawing
 * lines of text with styles. One thread draws; any thread, or a crash, can give it back.
 */
#ifndef SPROF_SCREEN_H
#define SPROF_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a terminal that can show a screen? If not, why[] has the reason. */
bool screen_is_possible(char *why, size_t why_size);

/* Takes the terminal, which is given back at exit, also by a crash. 0 or -errno, reported. */
int screen_begin(void);
/* Gives the terminal back, if it has not been given back already. */
void screen_end(void);
/* Gives the terminal back and stops sprof, as ^Z does; returns when sprof is continued. */
void screen_suspend(void);
/* Adapts to a new size of the terminal. */
void screen_resize(void);

/* Has the next drawing repaint everything, over what other programs have written. */
void screen_redraw(void);

bool screen_is_unicode(void);
int screen_rows(void);
int screen_columns(void);

enum screen_style {
	STYLE_PLAIN,
	STYLE_TITLE,	/* an eye-catching line of its own */
	STYLE_SELECTED, /* the row that keys act on */
	STYLE_WARNING,
	STYLE_DIM,
	STYLE_CURVE, /* like bars in tables */
};

/* Begins an empty picture. */
void screen_clear(void);
/*
 * Draws the text of one line, cut at the right edge or after `width` columns; returns the columns
 * it takes. The text is clean (core/base/clean_text.h) except for the escapes of tables (grid.h). A
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
