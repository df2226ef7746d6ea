/* Frames that need no file: names, and code objects of Python. */
#include "core/profile/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/*
 * Bytes of a name or a path that are shown. A recorder reads far less of each, but a file can refer
 * to a text of a megabyte in millions of frames.
 */
enum { MAX_SHOWN = 4096 };

uint32_t profile_named_frame(struct profile *p, const char *name, size_t length,
			     enum function_kind kind)
{
	return profile_frame_of_name(p, profile_string(p, name, length), kind);
}

uint32_t profile_frame_of_name(struct profile *p, uint32_t name, enum function_kind kind)
{
	struct profile_module module = { .kind = MODULE_NAMED, .function_kind = kind };
	uint32_t frame = profile_frame(p, profile_module(p, &module), name);

	if (!p->frames[frame].nr_locations) {
		struct profile_function function = {
			.name = name,
			.system_name = name,
			.module = PROFILE_NONE,
			.kind = kind,
		};
		struct profile_location location = { .function = profile_function(p, &function) };

		profile_set_locations(p, frame, &location, 1);
	}
	return frame;
}

static char *python_name(const struct profile *p, const struct profile_module *m)
{
	const char *name = profile_str(p, m->code_name), *path = profile_str(p, m->path);
	const char *end = path + strnlen(path, MAX_SHOWN);
	const char *slash = memrchr(path, '/', (size_t)(end - path));
	const char *base = slash && slash + 1 < end ? slash + 1 : path; /* path_base_name() */

	return xasprintf("%.*s (%.*s:%" PRIu32 ")", MAX_SHOWN, *name ? name : "[unknown]",
			 (int)(end - base), base, (uint32_t)m->code_line);
}

uint32_t profile_python_frame(struct profile *p, uint32_t module, uint64_t line)
{
	uint32_t frame = profile_frame(p, module, line);
	const struct profile_module *m = &p->modules[module];
	struct profile_function function = {
		.system_name = m->code_name,
		.module = module,
		.file = m->path,
		.start_line = (uint32_t)m->code_line,
		.kind = FUNCTION_PYTHON,
	};
	struct profile_location location = { .line = (uint32_t)line };
	char *name;

	if (p->frames[frame].nr_locations)
		return frame;
	name = python_name(p, m);
	function.name = profile_cstring(p, name);
	free(name);
	location.function = profile_function(p, &function);
	profile_set_locations(p, frame, &location, 1);
	return frame;
}
