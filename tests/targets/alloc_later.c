/*
 * Loads libarena.so when it is told to, and allocates known amounts of memory by it once it is told
 * again; then it unloads it, loads it once more and does the same. As alloc_sites.c else.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define NR 100000u
#define SIZE 600u

static void *(*allocate)(size_t);
static void (*give_back)(void *);

static NOINLINE void site_later(void)
{
	for (unsigned int i = 0; i < NR; i++) {
		void *block = allocate(SIZE);

		if (i % 4)
			give_back(block);
	}
}

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	allocate = library ? (void *(*)(size_t))dlsym(library, "malloc") : NULL;
	give_back = library ? (void (*)(void *))dlsym(library, "free") : NULL;
	if (!allocate || !give_back)
		exit(2);
	return library;
}

int main(int argc, char **argv)
{
	void *library;
	char line[16];

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc < 2)
		return 2;
	printf("ready\n");
	for (int i = 0; i < 2; i++) {
		if (!fgets(line, sizeof(line), stdin))
			return 1;
		library = load(argv[1]);
		printf("loaded\n");
		if (!fgets(line, sizeof(line), stdin))
			return 1;
		site_later();
		dlclose(library);
		printf("done\n");
	}
	printf("site_later %u %u\n", 2 * NR * SIZE, NR / 4 * SIZE * 2);
	printf("end\n");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
