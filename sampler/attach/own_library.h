/* Where the libraries lie that sprof loads into targets. */
#ifndef SPROF_OWN_LIBRARY_H
#define SPROF_OWN_LIBRARY_H

/*
 * The path of a library: beside this program, in ../lib or in ../lib/sprof; the caller frees it.
 * NULL: it is in none of them.
 */
char *own_library_find(const char *name);

#endif
