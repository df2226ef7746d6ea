/* CPython's own functions, told by their names in the symbol tables of many builds. */
#ifndef SPROF_CPYTHON_H
#define SPROF_CPYTHON_H

#include <stdbool.h>

struct profile;
struct profile_frame;

/* Is `name` that function, or a clone of it that the compiler made (take_gil.constprop.0)? */
bool cpython_is(const char *name, const char *function);

/* Is the frame in the file of an interpreter: python3.11, libpython3.12.so.1.0? */
bool cpython_has_frame(const struct profile *p, const struct profile_frame *frame);

#endif
