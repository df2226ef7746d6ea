/* Reads any bytes as speedscope's JSON. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_speedscope, data, size);
}
