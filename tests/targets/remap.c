// remap MS [anonymous|file]: code that does not run where the program's file was mapped first.
//  anonymous  the text is replaced by a copy in anonymous memory at the same address, as some
//             servers do to have it in huge pages
//  file       the text is mapped a second time, and the work runs there
// True shares: main;run;part_60 60 %, main;run;part_40 40 %.
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

NOIPA void part_60(void)
{
	BURN(60);
}

NOIPA void part_40(void)
{
	BURN(40);
}

/* Its calls are relative, so it also works in a copy of the text. */
NOIPA void run(int which)
{
	if (which)
		part_60();
	else
		part_40();
	NO_TAIL_CALL();
}

struct text {
	char *start;
	size_t size, file_offset;
};

/* The mapping that holds run(). */
static int find_text(struct text *ret_text)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx r-xp %lx", &start, &end, &offset) != 3 ||
		    (uintptr_t)run < start || (uintptr_t)run >= end)
			continue;
		fclose(maps);
		*ret_text = (struct text){ (char *)start, end - start, offset };
		return 0;
	}
	return -1;
}

static int replace_by_copy(const struct text *text)
{
	void *copy =
		mmap(NULL, text->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return -1;
	memcpy(copy, text->start, text->size);
	if (mprotect(copy, text->size, PROT_READ | PROT_EXEC))
		return -1;
	return mremap(copy, text->size, text->size, MREMAP_MAYMOVE | MREMAP_FIXED, text->start) ==
			       text->start
		       ? 0
		       : -1;
}

/* Returns the distance to the second mapping, or 0. */
static ptrdiff_t map_again(const struct text *text)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *again = mmap(NULL, text->size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			   (off_t)text->file_offset);

	return again == MAP_FAILED ? 0 : again - text->start;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_60 = 0, ns_40 = 0;
	void (*volatile run_there)(int) = run;
	struct text text;

	if (find_text(&text))
		return 1;
	if (argc > 2 && strcmp(argv[2], "file") == 0) {
		ptrdiff_t distance = map_again(&text);

		if (!distance)
			return 1;
		run_there = (void (*)(int))((uintptr_t)run + (uintptr_t)distance);
	} else if (replace_by_copy(&text)) {
		return 1;
	}
	while (ns_60 + ns_40 < budget) {
		TIMED(ns_60, run_there(1));
		TIMED(ns_40, run_there(0));
	}
	truth(ns_60, "main;run;part_60");
	truth(ns_40, "main;run;part_40");
	return 0;
}
