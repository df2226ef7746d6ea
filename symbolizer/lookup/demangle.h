/*
 * Turns a name of a symbol table into a readable one: C++ and Rust names are demangled, and a
 * symbol version (@@GLIBC_2.14) is dropped.
 */
#ifndef SPROF_DEMANGLE_H
#define SPROF_DEMANGLE_H

/* Returns a string to free(), or NULL where the name is readable as it is. */
char *demangle(const char *name);

#endif
