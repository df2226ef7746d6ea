/* Reads any bytes as the formats that pprof had before protobuf. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_import(&import_legacy_cpu, data, size);
	return check_import(&import_legacy_text, data, size);
}
