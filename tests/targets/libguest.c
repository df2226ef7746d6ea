// Loaded into other programs by tests/drivers/dlopen.c. Its constructor allocates memory and
// appends a line to the file that GUEST_SAYS names, if the program has that in its environment.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void arrive(void)
{
	const char *says = getenv("GUEST_SAYS");
	char *line = malloc(100);
	int fd = says ? open(says, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	snprintf(line, 100, "arrived in %d\n", (int)getpid());
	if (fd >= 0) {
		if (write(fd, line, strlen(line)) < 0)
			abort();
		close(fd);
	}
	free(line);
}
