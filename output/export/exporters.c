/*
 * The table of exporters and the look-ups in it. --help shows them in the order of the table:
 * formats that many programs read come first.
 */
#include "output/export/exporter.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/buffer.h"

const struct exporter *const exporter_table[] = {
	&export_collapsed,
	&export_pprof,
	&export_speedscope,
	&export_firefox,
	&export_chrome,
	&export_torch,
	&export_otlp,
	&export_callgrind,
	&export_pstats,
	&export_json,
	&export_csv,
	&export_tsv,
	NULL,
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

/* The format with the longest suffix that the first n bytes of a name end with, or NULL. */
static const struct exporter *find_suffix(const char *path, size_t n)
{
	const struct exporter *best = NULL;

	for (const struct exporter *const *e = exporter_table; *e; e++) {
		size_t m = strlen((*e)->suffix);

		if (n > m && !memcmp(path + n - m, (*e)->suffix, m) &&
		    (!best || m > strlen(best->suffix)))
			best = *e;
	}
	return best;
}

bool exporter_is_gzipped(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".gz");
}

const struct exporter *exporter_guess(const char *path)
{
	size_t n = strlen(path);
	const struct exporter *e = find_suffix(path, n);

	return !e && exporter_is_gzipped(path) ? find_suffix(path, n - 3) : e;
}
