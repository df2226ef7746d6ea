/*
 * What --calls asks for: [MODULE:]FUNCTION. MODULE is a glob of a file's base name, or a path if it
 * has a slash; FUNCTION is a glob of a native function's name, one of Python's events, or
 * "collectives".
 */
#ifndef SPROF_CALL_SPECS_H
#define SPROF_CALL_SPECS_H

#include <stdbool.h>
#include <stddef.h>

struct stat;

struct call_spec {
	const char *text;
	char *module; /* glob of a base name, or a path; NULL: any */
	const char *function;
	int event;	     /* enum call_counts_event of Python; -1: a native function */
	bool is_collectives; /* all functions of collective_ops.h, which are timed */
	bool found, refused; /* refused: it cannot be counted, which was reported */
	size_t nr_refused;   /* functions that could get no probe */
};

/* Does the text name a function? */
bool call_spec_is_one(const char *text);
/* `text` must outlive the result; the caller frees its `module`. */
struct call_spec call_spec_parse(const char *text);
/* Does the spec's module name this mapped file, which was found at `path`? */
bool call_spec_fits(const struct call_spec *spec, const char *path, const struct stat *file);

#endif
