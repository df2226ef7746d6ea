/* Reads any bytes as the JSON of browsers: CPU profiles of V8, Chrome traces, Firefox Profiler. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_import(&import_cpuprofile, data, size);
	check_import(&import_chrome_trace, data, size);
	return check_import(&import_firefox, data, size);
}
