/*
 * Recognises CPython's own functions and files by name. Builds differ in what is inlined, cloned or
 * stripped, but not in the names of functions.
 */
#ifndef SPROF_CPYTHON_H
#define SPROF_CPYTHON_H

#include <stdbool.h>

struct profile;
struct profile_frame;

/* Is `name` that function or a clone that the compiler made of it (take_gil.constprop.0)? */
bool cpython_is(const char *name, const char *function);

/* Is the frame in an interpreter's ELF file: python3.11, libpython3.12.so.1.0? */
bool cpython_has_frame(const struct profile *p, const struct profile_frame *frame);

#endif
