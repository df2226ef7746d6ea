/*
 * leftover FILE: works for ten seconds with what an earlier attempt to attach could have left: the
 * stub's page at one of the addresses that sprof uses (there is one every 256 MiB), and behind it
 * a part of the shared file, which is still empty. All is unmapped when FILE appears.
 */
#include "tests/targets/work.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/inject/x86_64/stub.c"

#define START ((char *)0x10005f0f000)
#define PAGE 4096u
#define SIZE 65536u

static int put_stub(void)
{
	if (mmap(START, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != START)
		return -1;
	memcpy(START, inject_stub_code, (size_t)(inject_stub_end - inject_stub_code));
	return mprotect(START, PAGE, PROT_READ | PROT_EXEC);
}

static int put_file(void)
{
	int fd = memfd_create("sprof", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, SIZE) ||
	    mmap(START + PAGE, SIZE, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) !=
		    START + PAGE)
		return -1;
	return close(fd);
}

int main(int argc, char **argv)
{
	bool there = true;

	if (argc != 2 || put_stub() || put_file()) {
		perror("leftover");
		return 1;
	}
	for (uint64_t end = cpu_ns() + 10000000000; cpu_ns() < end;) {
		BURN(1);
		if (there && !access(argv[1], F_OK)) {
			munmap(START, PAGE + SIZE);
			there = false;
		}
	}
	return 0;
}
