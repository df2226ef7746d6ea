/* The table of importers, in the order in which they are asked: the pickiest first. */
#include "output/import/importer.h"

#include <stddef.h>

#include "output/import/collapsed_reader.h"
#include "output/import/perf_script_reader.h"
#include "output/import/pprof_reader.h"
#include "output/import/speedscope_reader.h"

static const struct importer import_collapsed = {
	.name = "collapsed",
	.is = collapsed_is,
	.read = collapsed_read,
};

const struct importer *const importer_table[] = {
	&import_pprof, &import_speedscope, &import_perf_script, &import_collapsed, NULL,
};

const struct importer *importer_detect(const char *data, size_t size)
{
	const struct importer *const *i = importer_table;

	while (i[1] && !(*i)->is(data, size))
		i++;
	return *i;
}
