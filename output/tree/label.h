/*
 * The text on a box of the picture: the longest of several forms that fits its width. The short
 * forms need the short name of a function, ns::f<T>(args) -> f.
 */
#ifndef SPROF_LABEL_H
#define SPROF_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct tree_function;

/* A function's name, and where the short name lies in it. */
struct label_name {
	const char *text; /* belongs to the function */
	size_t size;
	size_t short_start, short_size;
};

struct label_name label_name_of(const struct tree_function *f);

/* The length of a Python name without the place of its definition: 1 for "f (x.py:12)". */
size_t label_without_place(const char *s, size_t n);

/*
 * Finds the short name in a clean name of C, C++, Rust, Go or Java. For kinds (enum function_kind)
 * whose names follow no such grammar it is the whole name.
 */
void label_short(const char *s, size_t n, uint8_t kind, size_t *ret_start, size_t *ret_size);

/*
 * Appends the first of "name 41% · self 12%", "short 41% · self 12%", "short 41%", "short" and
 * "…of_short" that fits in `columns`, or nothing.
 */
void label_add(struct buffer *b, const struct label_name *name, uint64_t total, uint64_t self,
	       uint64_t whole, size_t columns);

/* label_add() with other, clean texts after the name; self_text may be empty. */
void label_add_texts(struct buffer *b, const struct label_name *name,
		     const struct buffer *total_text, const struct buffer *self_text,
		     size_t columns);

/*
 * Appends a clean name of that kind: all of it, or the short name, or both ends of the short
 * name, whichever fits in `width` columns first. Returns the columns used.
 */
size_t label_add_short(struct buffer *b, const char *s, size_t n, uint8_t kind, size_t width,
		       bool unicode);

/*
 * Appends a clean name, cut to `width` columns: the whole name, or the short name with as much of
 * its surroundings as fits, "std::map<int…>::find…", or both ends of the short name.
 */
void label_add_cut(struct buffer *b, const char *s, size_t n, uint8_t kind, size_t width,
		   bool unicode);

#endif
