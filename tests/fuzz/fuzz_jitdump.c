/* Reads any bytes as a JIT compiler's dump and looks up addresses all over its first records. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/runtime/jitdump.h"

#define NR_ADDRESSES 256
#define STEP 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addresses[NR_ADDRESSES];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct jitdump *dump;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		addresses[i] = i * STEP;
	addresses[NR_ADDRESSES - 1] = UINT64_MAX;
	if (jitdump_read(fd, addresses, NR_ADDRESSES, &dump))
		return 0;
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		const struct jitdump_code *code = jitdump_lookup(dump, addresses[i]);

		if (code && (!strlen(code->name) || (code->file && !strlen(code->file))))
			abort();
	}
	jitdump_free(dump);
	return 0;
}
