/*
 * The colours of boxes. The hue tells the kind of code, and within a kind the module shifts it a
 * little, so a function has the same colour in every picture. Waits also have textures, for print
 * and for eyes that do not tell hues apart. A colour is a CSS class, so that dark mode, print and a
 * user's style sheet can change it.
 */
#ifndef SPROF_COLOR_H
#define SPROF_COLOR_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct tree;
struct tree_function;

enum { COLOR_NAME_SIZE = 4 };

/*
 * Writes the class of a node, "n0" to "n4" for native code and so on, with a NUL. What a wait was
 * for, and who ended it, has the class of the reason.
 */
void color_class(const struct tree *tree, uint32_t node, char ret_class[COLOR_NAME_SIZE]);

/* The class of a function that is in no stack; of what a wait was for that is a guess. */
void color_function_class(const struct tree_function *f, char ret_class[COLOR_NAME_SIZE]);

/*
 * Is the class of a frame of a wait that of its name: is it a reason, or does it join two waits? In
 * a stack a reason's name may still be what a wait was for.
 */
bool color_is_reason(const struct tree_function *f);

/*
 * Writes the class of a change, which is from -4 (much less) to 4 (much more): the letter, 'd' for
 * a box or 'q' for a cap, and a digit. Orange is more and blue is less, which people with any kind
 * of colour vision can tell apart.
 */
void color_change_class(char letter, int level, char ret_class[COLOR_NAME_SIZE]);

/* Appends the CSS rules of the classes of changes. */
void color_add_change_css(struct buffer *b);

/* Appends the CSS rules of every class of function, for light and dark mode. */
void color_add_css(struct buffer *b);

/* Appends the <pattern>s that the classes of waits are filled with. */
void color_add_textures(struct buffer *b);

/*
 * Calls f for every kind, for a legend: f(FUNCTION_NATIVE, "n2", "native", arg); for waits once for
 * each class.
 */
void color_each_class(void (*f)(int kind, const char *class, const char *name, void *arg),
		      void *arg);
/* Is there a function of that kind, and, of waits, a node of that class? */
bool color_has_class(const struct tree *tree, int kind, const char *class);

#endif
