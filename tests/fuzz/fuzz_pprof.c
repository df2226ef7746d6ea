/* Reads any bytes as pprof, and as a gzip file of pprof. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer expanded = { 0 };

	if (!gzip_expand(&expanded, data, size, 1u << 24))
		check_import(&import_pprof, expanded.data, expanded.size);
	buffer_fini(&expanded);
	return check_import(&import_pprof, data, size);
}
