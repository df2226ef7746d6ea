/*
 * Parses --calls. The first ':' that is not half of a '::' ends the module, so names of C++ can be
 * typed as they are.
 */
#include "cli/calls/call_specs.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/calls/collective_ops.h"
#include "cli/calls/python_counts.h"
#include "core/base/path.h"
#include "core/rights/privileges.h"

bool call_spec_is_one(const char *text)
{
	size_t n = strlen(text);

	return n && text[n - 1] != ':' && text[0] != ':';
}

/* Finds the first ':' that is not part of a '::'. */
static const char *module_end(const char *text)
{
	for (const char *at = text; (at = strchr(at, ':')); at += strspn(at, ":"))
		if (at[1] != ':')
			return at;
	return NULL;
}

struct call_spec call_spec_parse(const char *text)
{
	const char *end = module_end(text), *function = end ? end + 1 : text;

	return (struct call_spec){
		.text = text,
		.module = end ? strndup(text, (size_t)(end - text)) : NULL,
		.function = function,
		.event = python_counts_event(function),
		.is_collectives = !strcmp(function, COLLECTIVE_OPS_WORD),
	};
}

bool call_spec_fits(const struct call_spec *s, const char *path, const struct stat *file)
{
	enum rights before;
	struct stat named;
	bool found;

	if (!s->module)
		return true;
	if (!strchr(s->module, '/'))
		return !fnmatch(s->module, path_base_name(path), 0);
	before = privileges_use(RIGHTS_OF_CALLER);
	found = !stat(s->module, &named);
	privileges_use(before);
	return found && named.st_dev == file->st_dev && named.st_ino == file->st_ino;
}
