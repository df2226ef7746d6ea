/*
 * Reads any bytes as a file with symbol tables; a lookup must find every function that the tables
 * list.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/attach/critical_functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module_functions f;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!module_functions_read(fd, &f)) {
		for (size_t i = 0; i < f.nr; i++) {
			if (f.ranges[i].start < f.ranges[i].end &&
			    module_functions_find(&f, f.ranges[i].start) == ROLE_UNNAMED)
				abort();
		}
		module_functions_fini(&f);
	}
	close(fd);
	return 0;
}
