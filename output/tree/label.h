/*
 * What is written on a box: the longest of a ladder of texts that fits. Of each name
 * the short part is found once: ns::f<T>(args) -> f.
 */
#ifndef SPROF_LABEL_H
#define SPROF_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct tree_function;

/* A function's name and where in it the short name lies. */
struct label_name {
	const char *text; /* the function's */
	size_t size;
	size_t short_start, short_size;
};

struct label_name label_name_of(const struct tree_function *f);

/* How much of a Python name comes before where it is defined: "f" of "f (x.py:12)". */
size_t label_without_place(const char *s, size_t n);

/*
 * Where the short name lies in a clean name of C, C++, Rust, Go or Java; the whole of it for kinds
 * (enum function_kind) whose names follow no such grammar.
 */
void label_short(const char *s, size_t n, uint8_t kind, size_t *ret_start, size_t *ret_size);

/*
 * Appends the first that fits in `columns` of: "name 41% · self 12%", "short 41% · self 12%",
 * "short 41%", "short", "sh…rt"; nothing where not even that does.
 */
void label_add(struct buffer *b, const struct label_name *name, uint64_t total, uint64_t self,
	       uint64_t whole, size_t columns);

/* The same ladder with other numbers, clean text; an empty self_text is none. */
void label_add_texts(struct buffer *b, const struct label_name *name,
		     const struct buffer *total_text, const struct buffer *self_text,
		     size_t columns);

/*
 * Appends a clean name of that kind: all of it, or the short name, or both ends of that, whichever fits in
 * `width` columns first. Returns the columns used.
 */
size_t label_add_short(struct buffer *b, const char *s, size_t n, uint8_t kind, size_t width,
		       bool unicode);

/*
 * Appends of a clean name of that kind what fits in `width` columns: all, or the short name with as much of
 * what is around it as there is room for, "std::map<int…>::find…", or both ends of the short name.
 */
void label_add_cut(struct buffer *b, const char *s, size_t n, uint8_t kind, size_t width,
		   bool unicode);

#endif
