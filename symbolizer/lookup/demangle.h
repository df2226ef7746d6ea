/*
 * From a name as the symbol table has it to the one a person reads: C++ and Rust names are
 * demangled, a symbol version (@@GLIBC_2.14) is dropped.
 */
#ifndef SPROF_DEMANGLE_H
#define SPROF_DEMANGLE_H

/* A string to free(), or NULL where the name reads well as it is. */
char *demangle(const char *name);

#endif
