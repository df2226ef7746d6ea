/*
 * Frames that need no file: markers, names, and code objects of Python; and what markers are
 * called.
 */
#include "core/profile/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/profile/repeat_marker.h"

const char *marker_name(enum marker marker)
{
	static const char *const names[NR_MARKERS] = {
		[MARKER_UNKNOWN] = "[unknown]",
		[MARKER_NO_RULE] = "[no unwind rule]",
		[MARKER_READ_FAULT] = "[stack not readable]",
		[MARKER_BAD_STACK] = "[bad stack pointer]",
		[MARKER_TOO_DEEP] = "[incomplete: too deep]",
		[MARKER_SNAPSHOT_END] = "[incomplete: end of stack copy]",
		[MARKER_COMPAT_32BIT] = "[32-bit program]",
		[MARKER_NO_KERNEL_STACK] = "[no kernel stack]",
		[MARKER_NO_LAUNCH] = "[launch not seen]",
		[MARKER_PYTHON] = "[Python frames not readable]",
		[MARKER_PARSER_FAILED] = "[unwind rules not readable]",
		[MARKER_OVER_LIMIT] = "[incomplete: over a limit]",
		[MARKER_TOO_LONG] = "[incomplete: too long to walk]",
		[MARKER_LEFT_OUT] = "[incomplete: frames left out]",
		[MARKER_REPEATED] = "[repeated frames]",
		[MARKER_GUESSED] = "[incomplete: guessed callers]",
		[MARKER_NO_TABLE] = "[incomplete: no unwind table yet]",
	};

	return (unsigned int)marker < NR_MARKERS ? names[marker] : "[marker]";
}

int marker_from_name(const char *name, size_t size)
{
	static const char *const former_names[NR_MARKERS] = {
		[MARKER_TOO_DEEP] = "[truncated: too deep]",
		[MARKER_SNAPSHOT_END] = "[truncated: end of stack copy]",
	};

	for (int i = 0; i < NR_MARKERS; i++) {
		const char *now = marker_name((enum marker)i), *former = former_names[i];

		if ((size == strlen(now) && !memcmp(name, now, size)) ||
		    (former && size == strlen(former) && !memcmp(name, former, size)))
			return i;
	}
	return repeat_marker_is_name(name, size) ? MARKER_REPEATED : -1;
}

uint32_t profile_marker_frame(struct profile *p, enum marker marker)
{
	struct profile_module module = { .kind = MODULE_MARKER };

	return profile_frame(p, profile_module(p, &module), marker);
}

uint32_t profile_named_frame(struct profile *p, const char *name, size_t length,
			     enum function_kind kind)
{
	struct profile_module module = { .kind = MODULE_NAMED, .function_kind = kind };
	uint32_t id = profile_string(p, name, length);
	uint32_t frame = profile_frame(p, profile_module(p, &module), id);

	if (!p->frames[frame].nr_locations) {
		struct profile_function function = {
			.name = id,
			.system_name = id,
			.module = PROFILE_NONE,
			.kind = kind,
		};
		struct profile_location location = { .function = profile_function(p, &function) };

		profile_set_locations(p, frame, &location, 1);
	}
	return frame;
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
	name = xasprintf("%s (%s:%" PRIu32 ")",
			 *p->strings[m->code_name] ? p->strings[m->code_name] : "[unknown]",
			 path_base_name(p->strings[m->path]), function.start_line);
	function.name = profile_cstring(p, name);
	free(name);
	location.function = profile_function(p, &function);
	profile_set_locations(p, frame, &location, 1);
	return frame;
}
