/* Reads any bytes as a report of GHC's profiler. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_ghc, data, size);
}
