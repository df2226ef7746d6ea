/* The table of importers, in the order in which they are asked: the pickiest first. */
#include "output/import/importer.h"

#include <errno.h>

#include "core/base/buffer.h"
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

int import_read_all(FILE *f, size_t limit, struct buffer *ret_data)
{
	size_t got;

	do {
		size_t room = 256 * 1024;

		if (ret_data->size > limit)
			return -EFBIG;
		got = fread(buffer_reserve(ret_data, room), 1, room, f);
		ret_data->size += got;
	} while (got);
	return ferror(f) ? -EIO : 0;
}
