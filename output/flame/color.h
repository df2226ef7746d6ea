/*
 * Colours say what kind of code a box is; within a kind the module shifts the hue a little. The same
 * function has the same colour in every picture. A colour is a CSS class, so that a dark page, a
 * printer and a reader with own preferences can change it.
 */
#ifndef SPROF_COLOR_H
#define SPROF_COLOR_H

#include <stdint.h>

struct buffer;
struct tree_function;

enum { COLOR_NAME_SIZE = 4 };

/* Writes the class of a function, "n0".."n4" for native code and so on, and its NUL. */
void color_class(const struct tree_function *f, char ret_class[COLOR_NAME_SIZE]);

/*
 * Writes the class of a change, from -4 (much less) to 4 (much more): letter 'd' for a box, 'q' for a
 * cap, and a digit. Orange is more and blue is less, which every kind of colour vision tells apart.
 */
void color_change_class(char letter, int level, char ret_class[COLOR_NAME_SIZE]);

/* Appends the CSS rules of the classes of changes. */
void color_add_change_css(struct buffer *b);

/* Appends the CSS rules of every class, on light and on dark ground. */
void color_add_css(struct buffer *b);

/* Appends class and name of every kind, for a legend: f(FUNCTION_NATIVE, "n2", "native", arg). */
void color_each_kind(void (*f)(int kind, const char *class, const char *name, void *arg),
		     void *arg);

#endif
