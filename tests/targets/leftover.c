/*
 * leftover FILE: works for ten seconds with memory that carries no mark of its owner at one of the
 * addresses that sprof uses (there is one every 256 MiB), like the last remains of an earlier
 * attempt to attach. The memory is unmapped when FILE appears.
 */
#include "tests/targets/work.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define START ((void *)0x10005f0f000)
#define SIZE 65536u

int main(int argc, char **argv)
{
	bool there = true;

	if (argc != 2 || mmap(START, SIZE, PROT_READ,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != START) {
		perror("leftover");
		return 1;
	}
	for (uint64_t end = cpu_ns() + 10000000000; cpu_ns() < end;) {
		BURN(1);
		if (there && !access(argv[1], F_OK)) {
			munmap(START, SIZE);
			there = false;
		}
	}
	return 0;
}
