/*
 * Looks a format up by its name. The message for an unknown name lists all names, so that the user
 * need not open the manual page.
 */
#include "cli/options/export_format.h"

#include <argp.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "output/export/exporter.h"

const struct exporter *export_parse_format(const char *name, struct argp_state *state)
{
	const struct exporter *exporter = exporter_find(name);
	struct buffer names = { 0 };

	if (exporter)
		return exporter;
	exporter_add_names(&names);
	argp_error(state, "there is no format '%s', only %s", name, buffer_cstring(&names));
	buffer_fini(&names);
	return NULL;
}
