/*
 * The table of importers. They are asked in this order, and the first yes wins, so the strictest
 * test comes first and the most tolerant one, collapsed stacks, comes last and also serves as the
 * default.
 */
#include "output/import/importer.h"

#include <stddef.h>

const struct importer *const importer_table[] = {
	&import_legacy_cpu,  &import_legacy_text, &import_pprof, &import_speedscope,
	&import_perf_script, &import_collapsed,	  NULL,
};

const struct importer *importer_detect(const char *data, size_t size)
{
	const struct importer *const *i = importer_table;

	while (i[1] && !(*i)->is(data, size))
		i++;
	return *i;
}
