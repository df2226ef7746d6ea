/*
 * Looks a format up by its name. The message for an unknown name lists all names, so that the user
 * need not open the manual page.
 */
#include "cli/options/export_format.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
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

void export_report_error(const struct exporter *exporter, int err, const char *what)
{
	if (err == -EDOM)
		log_error(0, "write %s as %s: it holds counts, and the format needs times", what,
			  exporter->name);
	else if (err == -E2BIG)
		log_error(0, "write %s as %s: several processes used a GPU, and a file holds one",
			  what, exporter->name);
	else
		log_error(-err, "write %s as %s", what, exporter->name);
	if (err == -E2BIG)
		log_hint("sprof export -f %s -o DIR/ writes a file for each", exporter->name);
}
