// many_maps NUMBER MS: makes NUMBER separate executable mappings without a file, then spends all
// its time in main;leaf.
#include "tests/targets/work.h"

#include <sys/mman.h>
#include <unistd.h>

NOIPA void leaf(void)
{
	BURN(10);
}

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t budget = budget_ns(argc - 1, argv + 1), ns = 0;
	char *memory = mmap(NULL, 2 * nr * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < nr; i++)
		if (mprotect(memory + 2 * i * page, page, PROT_READ | PROT_EXEC))
			return 1;
	while (ns < budget)
		TIMED(ns, leaf());
	truth(ns, "main;leaf");
	return 0;
}
