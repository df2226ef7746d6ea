/*
 * Takes names apart. A name ends before " (", a qualified name is split at its last '.', and paths
 * are compared from their ends.
 */
#include "output/tree/python_name.h"

#include <string.h>

#include "core/base/path.h"

const char *python_name_own(const char *name, size_t *ret_size)
{
	const char *end = strstr(name, " (");
	size_t size = end ? (size_t)(end - name) : strlen(name), start = size;

	while (start && name[start - 1] != '.')
		start--;
	*ret_size = size - start;
	return name + start;
}

bool python_name_is(const char *name, const char *function)
{
	const char *end = strstr(name, " (");
	size_t size = end ? (size_t)(end - name) : strlen(name), n = strlen(function);

	if (n > size || memcmp(name + size - n, function, n))
		return false;
	return n == size || name[size - n - 1] == '.';
}

bool python_file_is(const char *file, const char *path)
{
	size_t size = strlen(file), n = strlen(path);

	if (!strchr(file, '/'))
		return !strcmp(file, path_base_name(path));
	if (n > size || strcmp(file + size - n, path))
		return false;
	return n == size || file[size - n - 1] == '/';
}
