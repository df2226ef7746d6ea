/* Reads any bytes as the text of perf script. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_perf_script, data, size);
}
