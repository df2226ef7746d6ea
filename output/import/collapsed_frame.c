/*
 * Reads the spelling of a frame: a suffix is cut off the name and becomes the kind, an inlined
 * frame is a frame of its own, and a Python function gets its file and line. Whatever matches none
 * of these forms is a native function of that name.
 */
#include "output/import/collapsed_frame.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/profile.h"

/* Where a Python function is defined, parsed from its spelling. */
struct python_place {
	const char *file;
	size_t name_size, file_size;
	uint32_t line;
};

static bool ends_with(const char *s, size_t n, const char *suffix)
{
	size_t m = strlen(suffix);

	return n > m && !memcmp(s + n - m, suffix, m);
}

/* The kind that a name's suffix or brackets tell. Cuts the suffix off. */
static enum function_kind kind_of(const char *s, size_t *n, bool *ret_inlined)
{
	static const struct {
		const char *suffix;
		enum function_kind kind;
	} marks[] = {
		{ "_[k]", FUNCTION_KERNEL }, { "_[j]", FUNCTION_JIT },	  { "_[g]", FUNCTION_GPU },
		{ "_[w]", FUNCTION_WAIT },   { "_[i]", FUNCTION_NATIVE },
	};

	*ret_inlined = ends_with(s, *n, "_[i]");
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (ends_with(s, *n, marks[i].suffix)) {
			*n -= strlen(marks[i].suffix);
			return marks[i].kind;
		}
	}
	if (*n < 2 || s[0] != '[' || s[*n - 1] != ']')
		return FUNCTION_NATIVE;
	if (marker_from_name(s, *n) > MARKER_UNKNOWN)
		return FUNCTION_MARKER;
	return FUNCTION_UNKNOWN; /* "[unknown]", "[libc.so.6]" */
}

/* The inlined and the plain frame of one function differ, so that the tree keeps them apart. */
static uint32_t inlined_frame(struct profile *p, uint32_t frame)
{
	const struct profile_module module = {
		.kind = MODULE_NAMED,
		.path = profile_cstring(p, "[inlined]"),
	};
	struct profile_location location = p->locations[p->frames[frame].first_location];
	uint32_t inlined = profile_frame(p, profile_module(p, &module), p->frames[frame].address);

	location.inlined = true;
	profile_set_locations(p, inlined, &location, 1);
	return inlined;
}

/* Is it the file of Python or Cython code: "train.py", or, with a line, "<string>"? */
static bool is_python_file(const char *s, size_t n, bool has_line)
{
	return ends_with(s, n, ".py") || ends_with(s, n, ".pyx") || ends_with(s, n, ".pyi") ||
	       (has_line && n > 2 && s[0] == '<' && s[n - 1] == '>');
}

/*
 * Is it "train (train.py:15)" or "<module> (<string>:1)", as sprof and py-spy spell a Python
 * function, or "train (train.py)", as py-spy does without lines? A line has at most nine digits.
 */
static bool is_python(const char *s, size_t n, struct python_place *ret_place)
{
	size_t open = n, end = n - 1, line;

	if (n < 8 || s[n - 1] != ')')
		return false;
	while (open && (s[--open] != '(' || !open || s[open - 1] != ' '))
		;
	if (open < 2)
		return false;
	while (end > open && isdigit((unsigned char)s[end - 1]))
		end--;
	line = n - 1 - end;
	if (line && (s[end - 1] != ':' || line > 9))
		end = n - 1;
	else if (line)
		end--;
	*ret_place = (struct python_place){ .name_size = open - 1, .file = s + open + 1 };
	if (end <= open + 2)
		return false;
	ret_place->file_size = end - open - 1;
	if (end < n - 1)
		ret_place->line = (uint32_t)strtoul(s + end + 1, NULL, 10);
	return is_python_file(ret_place->file, ret_place->file_size, end < n - 1);
}

/* Like profile_python_frame(), but without a code object. */
static uint32_t python_frame(struct profile *p, const char *s, size_t n,
			     const struct python_place *place)
{
	uint32_t frame = profile_named_frame(p, s, n, FUNCTION_PYTHON);
	struct profile_location location = p->locations[p->frames[frame].first_location];
	struct profile_function function = p->functions[location.function];

	function.system_name = profile_string(p, s, place->name_size);
	function.file = profile_string(p, place->file, place->file_size);
	function.start_line = place->line;
	location.function = profile_function(p, &function);
	profile_set_locations(p, frame, &location, 1);
	return frame;
}

uint32_t collapsed_frame(struct profile *p, const char *s, size_t n)
{
	bool inlined;
	enum function_kind kind = kind_of(s, &n, &inlined);
	struct python_place place;
	uint32_t frame;

	if (kind == FUNCTION_NATIVE && !inlined && is_python(s, n, &place))
		return python_frame(p, s, n, &place);
	frame = profile_named_frame(p, s, n, kind);
	return inlined ? inlined_frame(p, frame) : frame;
}
