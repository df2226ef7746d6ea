/* Reads any bytes as a report of sample, of macOS. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_macos_sample, data, size);
}
