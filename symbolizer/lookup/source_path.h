/* Paths of source files, as DWARF spells them in parts. */
#ifndef SPROF_SOURCE_PATH_H
#define SPROF_SOURCE_PATH_H

#include <stdbool.h>

/*
 * Joins name to directory, and that to root, as far as they are relative; NULL parts are left out.
 * "." and ".." are resolved as text, so that one header has one path in every unit. The caller
 * frees the result.
 */
char *source_path(const char *root, const char *directory, const char *name);

/*
 * Do two tidy paths mean one file? A relative one may begin anywhere: of the units of one file some
 * may have been compiled with -ffile-prefix-map, and others not (link-time optimization).
 */
bool source_path_same(const char *a, const char *b);

#endif
