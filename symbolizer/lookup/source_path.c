/*
 * Paths are joined and normalized as text, part by part; the files need not exist on this machine.
 */
#include "symbolizer/lookup/source_path.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/alloc.h"

/* Appends `part` of `length` bytes to a normalized path and returns the new end. */
static char *add_part(char *path, char *end, const char *part, size_t length)
{
	if (!length || (length == 1 && part[0] == '.'))
		return end;
	if (length == 2 && part[0] == '.' && part[1] == '.') {
		char *slash = memrchr(path, '/', (size_t)(end - path));
		char *last = slash ? slash + 1 : path;
		bool is_up = end - last == 2 && last[0] == '.' && last[1] == '.';

		if (end > path && !is_up)
			return slash ? slash : path;
		if (slash == path || path[0] == '/')
			return end; /* above the root */
	}
	if (end > path || path[0] == '/')
		*end++ = '/';
	memcpy(end, part, length);
	return end + length;
}

/*
 * Appends the parts of `text`. path must have room for the text and a slash per part, and begin
 * with NUL or '/'.
 */
static char *add_text(char *path, char *end, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "/");

		end = add_part(path, end, text, length);
		text += length + (text[length] == '/');
	}
	return end;
}

/*
 * Returns whether the directory repeats the root instead of being relative to it. It does where
 * both were absolute until -ffile-prefix-map shortened them, and always in DWARF 5, whose directory
 * 0 is the root.
 */
static bool repeats_root(const char *root, const char *directory)
{
	size_t length = strlen(root);

	return length && root[0] != '/' && !strncmp(directory, root, length) &&
	       (!directory[length] || directory[length] == '/');
}

char *source_path(const char *root, const char *directory, const char *name)
{
	const char *parts[3] = { root ? root : "", directory ? directory : "", name };
	size_t size = strlen(parts[0]) + strlen(parts[1]) + strlen(parts[2]) + 8;
	char *path = xcalloc(size, 1), *end = path;
	int first = repeats_root(parts[0], parts[1]);

	for (int i = 0; i < 3; i++) {
		if (parts[i][0] == '/')
			first = i;
	}
	if (parts[first][0] == '/')
		path[0] = '/';
	for (int i = first; i < 3; i++)
		end = add_text(path, end, parts[i]);
	if (end == path && path[0] == '/')
		end++;
	*end = '\0';
	return path;
}

bool source_path_same(const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > b_length)
		return source_path_same(b, a);
	if (a_length == b_length || a[0] == '/')
		return !strcmp(a, b);
	return b[b_length - a_length - 1] == '/' && !strcmp(a, b + (b_length - a_length));
}
