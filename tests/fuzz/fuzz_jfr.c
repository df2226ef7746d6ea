/* Reads any bytes as a file of Java Flight Recorder. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_jfr, data, size);
}
