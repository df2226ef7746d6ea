/*
 * The table of exporters and the look-ups in it. --help shows them in the order of the table:
 * formats that many programs read come first.
 */
#include "output/export/exporter.h"

#include <stddef.h>
#include <string.h>

#include "core/base/buffer.h"

const struct exporter *const exporter_table[] = {
	&export_collapsed, &export_pprof, &export_speedscope, &export_firefox,
	&export_chrome,	   &export_otlp,  &export_callgrind,  &export_pstats,
	&export_json,	   &export_csv,	  &export_tsv,	      NULL,
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *const *e = exporter_table; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

void exporter_add_names(struct buffer *b)
{
	for (const struct exporter *const *e = exporter_table; *e; e++)
		buffer_printf(b, "%s%s", e == exporter_table ? "" : ", ", (*e)->name);
}

const struct exporter *exporter_guess(const char *path)
{
	const struct exporter *best = NULL;
	size_t n = strlen(path);

	for (const struct exporter *const *e = exporter_table; *e; e++) {
		size_t m = strlen((*e)->suffix);

		if (n > m && !strcmp(path + n - m, (*e)->suffix) &&
		    (!best || m > strlen(best->suffix)))
			best = *e;
	}
	return best;
}
