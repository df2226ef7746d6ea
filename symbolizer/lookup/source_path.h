/* Paths of source files, which DWARF stores in parts. */
#ifndef SPROF_SOURCE_PATH_H
#define SPROF_SOURCE_PATH_H

#include <stdbool.h>

/*
 * Joins root, directory and name as far as they are relative; NULL parts are left out. "." and ".."
 * are resolved as text, so that a header has the same path in every unit. The caller frees the
 * result.
 */
char *source_path(const char *root, const char *directory, const char *name);

/*
 * Returns whether two normalized paths mean the same file. A relative path may begin anywhere: of
 * the units of one file some may have been compiled with -ffile-prefix-map and others not
 * (link-time optimization).
 */
bool source_path_same(const char *a, const char *b);

#endif
