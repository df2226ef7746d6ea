/* Reads any bytes as callgrind's format. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_callgrind, data, size);
}
