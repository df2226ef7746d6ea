/* Reads any bytes as stacks that DTrace counted. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_dtrace, data, size);
}
