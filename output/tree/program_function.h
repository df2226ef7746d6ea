/* Which functions of Python are the program's own, and not of a library. */
#ifndef SPROF_PROGRAM_FUNCTION_H
#define SPROF_PROGRAM_FUNCTION_H

#include <stdbool.h>
#include <string.h>

#include "output/tree/functions.h"

static inline bool program_function_is(const struct tree_function *f)
{
	return f->file[0] != '<' && !strstr(f->file, "/site-packages/") &&
	       !strstr(f->file, "/dist-packages/") && !strstr(f->file, "/lib/python3");
}

#endif
