/*
 * Compares names. A clone has the name of the function and then a '.'; an interpreter is known by
 * the base name of its file.
 */
#include "output/tree/cpython.h"

#include <string.h>

#include "core/base/path.h"
#include "core/profile/profile.h"

bool cpython_is(const char *name, const char *function)
{
	size_t length = strlen(function);

	return !strncmp(name, function, length) && (!name[length] || name[length] == '.');
}

bool cpython_has_frame(const struct profile *p, const struct profile_frame *frame)
{
	const char *name = path_base_name(profile_str(p, p->modules[frame->module].path));

	return p->modules[frame->module].kind == MODULE_ELF &&
	       (!strncmp(name, "python", 6) || !strncmp(name, "libpython", 9));
}
