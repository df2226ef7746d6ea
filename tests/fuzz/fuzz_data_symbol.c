/*
 * Takes any bytes as the file in which a lock lies, and asks which variable is at addresses all
 * over it. A name is text that fits and ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/waiting/data_symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(int fd, uint64_t offset)
{
	char name[DATA_SYMBOL_SIZE];

	memset(name, 'x', sizeof(name));
	if (data_symbol_find(NULL, fd, offset, name))
		return;
	if (!name[0] || !memchr(name, '\0', sizeof(name)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t offset = 0;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	/* The end of the file chooses, and the data of a small library is in its last pages. */
	memcpy(&offset, data + (size < 8 ? 0 : size - 8), size < 8 ? size : 8);
	ask(fd, offset);
	for (uint64_t i = 0; i < 64; i++)
		ask(fd, i * 0x100);
	ask(fd, UINT64_MAX);
	close(fd);
	return 0;
}
