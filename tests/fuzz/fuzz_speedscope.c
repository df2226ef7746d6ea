/* Reads any bytes as a speedscope file. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_speedscope, data, size);
}
