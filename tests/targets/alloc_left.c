/*
 * Allocates until the file $END_FILE appears, with what recorders leave that are killed before
 * their hooks are on: memory that was shared, the tables behind it, and code. A second one has a
 * heartbeat, so that it seems to be alive. Prints where all that is.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sampler/agent/alloc/alloc_region.h"

#define TABLES 65536u
#define ALIVE_AT ((char *)0x20005f0f000)
#define LEFT_AT ((char *)0x20015f0f000)

static void *map_file(const char *name, char *at, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size) ||
	    mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != at)
		abort();
	close(fd);
	return at;
}

static void *map_code(void)
{
	void *at = mmap(NULL, ALLOC_CODE_SIZE + sizeof(struct alloc_private), PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static struct alloc_shared *leave(char *at)
{
	struct alloc_shared *shared = map_file("sprof-alloc", at, sizeof(*shared));

	map_file("sprof-walk-space", at + sizeof(*shared), TABLES);
	shared->owner = 1;
	shared->stage = ALLOC_STAGE_MAPPED;
	return shared;
}

int main(void)
{
	const char *end_file = getenv("END_FILE");
	struct alloc_shared *alive = leave(ALIVE_AT), *left = leave(LEFT_AT);
	void *volatile block;

	left->code = (uint64_t)(uintptr_t)map_code();
	alive->heartbeat_ns = UINT64_MAX / 2; /* of the far future */
	printf("%lx %lx %lx\n", (unsigned long)ALIVE_AT, (unsigned long)LEFT_AT,
	       (unsigned long)left->code);
	fflush(stdout);
	while (end_file && access(end_file, F_OK)) {
		for (int i = 0; i < 1000; i++) {
			block = malloc(1000);
			free(block);
		}
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return 0;
}
