/* Reads any bytes as maps of stacks that bpftrace printed. */
#include "imported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_import(&import_bpftrace, data, size);
}
