/*
 * Knows formats by their first bytes, or else by what no text of stacks has: a NUL, or the
 * beginning of a JSON document.
 */
#include "output/import/foreign.h"

#include <stdbool.h>
#include <string.h>

#define MAGIC(text) text, sizeof(text) - 1

static const struct {
	const char *magic;
	size_t size;
	struct foreign foreign;
} formats[] = {
	{ MAGIC("\177ELF"), { "a program or a library (ELF)", "sprof record -- PROGRAM" } },
	{ MAGIC("\x1f\x8b"), { "gzip data inside gzip data", "gzip -d" } },
	{ MAGIC("\x28\xb5\x2f\xfd"), { "zstd data", "zstd -d" } },
	{ MAGIC("\xfd"
		"7zXZ"),
	  { "xz data", "xz -d" } },
	{ MAGIC("BZh"), { "bzip2 data", "bzip2 -d" } },
	{ MAGIC("PK\3\4"), { "a ZIP archive", "unzip" } },
	{ MAGIC("SQLite format 3"), { "an SQLite database", NULL } },
	{ MAGIC("gmon\1"), { "a gmon.out file of gprof, which holds no stacks", NULL } },
	{ MAGIC("\x89PNG"), { "a PNG picture", NULL } },
	{ MAGIC("%PDF"), { "a PDF document", NULL } },
	{ MAGIC("<?xml"), { "an XML document", NULL } },
	{ MAGIC("<svg"), { "an SVG picture", NULL } },
	{ MAGIC("<!DOCTYPE"), { "an HTML page", NULL } },
	{ MAGIC("<!doctype"), { "an HTML page", NULL } },
	{ MAGIC("<html"), { "an HTML page", NULL } },
};

static const struct foreign pstats = { "a file of Python's cProfile, which holds no stacks", NULL };
static const struct foreign archive = { "a tar archive", "tar -x" };
static const struct foreign binary = { "binary data of an unknown format", NULL };
static const struct foreign json = { "JSON of an unknown format", NULL };

/* Does JSON begin here? A name may begin with a brace or a bracket, but not with these pairs. */
static bool is_json(const char *data, size_t size)
{
	static const char blanks[] = " \t\r\n";
	size_t i = 0, brace;

	while (i < size && strchr(blanks, data[i]) && data[i])
		i++;
	if (i == size || (data[i] != '{' && data[i] != '['))
		return false;
	brace = i++;
	while (i < size && strchr(blanks, data[i]) && data[i])
		i++;
	if (i == size)
		return true;
	return data[brace] == '{' ? data[i] == '"' || data[i] == '}'
				  : data[i] == '{' || data[i] == '"' || data[i] == '[';
}

/* A dictionary of tuples (file, line, function), as marshal of CPython writes it. */
static bool is_pstats(const char *data, size_t size)
{
	return size > 2 && (data[0] & 0x7f) == '{' && (data[1] & 0x7f) == ')' && data[2] == 3;
}

const struct foreign *foreign_find(const char *data, size_t size)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (size >= formats[i].size && !memcmp(data, formats[i].magic, formats[i].size))
			return &formats[i].foreign;
	if (is_pstats(data, size))
		return &pstats;
	if (size > 262 && !memcmp(data + 257, "ustar", 5))
		return &archive;
	if (memchr(data, '\0', size))
		return &binary;
	return is_json(data, size) ? &json : NULL;
}
